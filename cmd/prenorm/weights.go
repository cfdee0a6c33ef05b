package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/model"
)

// weightsFlags is --weights of commands that use a trained model.
type weightsFlags struct{ weights string }

func (f *weightsFlags) weightsFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.weights, "weights", model.Packings[0], "fp32, bf16 or int8 `matrices`: less to read is faster, a little less exact")
	must(cmd.RegisterFlagCompletionFunc("weights", cobra.FixedCompletions(model.Packings, cobra.ShellCompDirectiveNoFileComp)))
}

func (f *weightsFlags) checkWeights(cmd *cobra.Command) error {
	if !slices.Contains(model.Packings, f.weights) {
		return wrongUsage(cmd, "--weights %q: wants %s", f.weights, strings.Join(model.Packings, ", "))
	}
	return nil
}

// pack stores the model's matrices as --weights says.
func (t *trained) pack(weights string) error {
	err := t.weights.PackAs(weights)
	var cannot *model.CannotPack
	if errors.As(err, &cannot) {
		return usageError{err}
	}
	return err
}
