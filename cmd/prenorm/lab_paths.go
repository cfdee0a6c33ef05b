package main

import (
	"strings"

	"github.com/spf13/cobra"

	"prenorm/kernels"
	"prenorm/train/lab"
)

type labPathsFlags struct {
	labFlags
	options lab.PathsOptions
}

func newLabPaths() *cobra.Command {
	f := &labPathsFlags{options: lab.DefaultPaths()}
	o := &f.options
	cmd := &cobra.Command{
		Use:   "paths",
		Short: "by paths of how many branches the gradient reaches the embedding",
		Long: `Take the gradient by the embedding apart: how much of it comes straight past all 2N branches, how much by paths that pass 1, 2, … 2N of them.
Multiplying every branch's Jacobian by t, with values left as they are, makes the gradient a polynomial in t; it is evaluated at 2N+1 Chebyshev nodes
in float64 on the reference kernels, and its coefficients are recovered. The page states the recovery's condition number, and how far the parts' sum is
from the whole gradient.`,
		Example: `  prenorm lab paths
  prenorm lab paths --placements pre,post --layers 12 --seeds 1`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().StringVar(&o.Setup, "setup", o.Setup, "how models are made: "+strings.Join(lab.SetupNames(), " or "))
	f.placementsFlag(cmd, o.Variants...)
	cmd.Flags().IntVar(&o.Layers, "layers", o.Layers, "`blocks`, at most 12")
	cmd.Flags().IntVar(&o.Width, "width", o.Width, "`width` of the stream")
	cmd.Flags().IntVar(&o.B, "batch", o.B, "sequences of random tokens")
	cmd.Flags().IntVar(&o.T, "context", o.T, "tokens of each")
	f.seedsFlag(cmd, o.Seeds...)
	f.outFlag(cmd, "paths")
	return cmd
}

func (f *labPathsFlags) run(cmd *cobra.Command) error {
	o := f.options
	setup, ok := lab.Setups()[o.Setup]
	if !ok {
		return wrongUsage(cmd, "--setup %q: wants %s", o.Setup, strings.Join(lab.SetupNames(), " or "))
	}
	if err := f.check(cmd, setup.Names()); err != nil {
		return err
	}
	if o.Layers < 1 || o.Layers > lab.MostPathBlocks {
		return wrongUsage(cmd, "--layers %d: paths can be told apart for 1 to %d blocks", o.Layers, lab.MostPathBlocks)
	}
	if o.B < 1 || o.T < 1 || o.B*o.T > 1<<14 {
		return wrongUsage(cmd, "--batch %d --context %d: want 1 to 16384 tokens together", o.B, o.T)
	}
	o.Variants, o.Seeds = f.placements, f.seeds
	if err := o.Check(); err != nil {
		return wrongUsage(cmd, "%w", err)
	}
	be, err := openKernels("ref", kernels.Options{})
	if err != nil {
		return err
	}
	defer be.Close()
	paths, err := lab.Paths(cmd.Context(), be, o, func(name string) { note(cmd.ErrOrStderr(), "measured %s", name) })
	if err != nil {
		return err
	}
	return f.write(cmd, lab.PathsReport(o, paths))
}
