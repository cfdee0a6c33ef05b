package main

import (
	"strings"

	"github.com/spf13/cobra"

	"prenorm/kernels"
	"prenorm/train/lab"
)

type labInitFlags struct {
	labFlags
	setup, kind    string
	depths, widths []int
}

func newLabInit() *cobra.Command {
	f := &labInitFlags{}
	def := lab.DefaultInit()
	cmd := &cobra.Command{
		Use:   "init",
		Short: "streams and gradients by depth before any training",
		Long: `Draw models of several depths, run each once forward and backward over random tokens, and fit how the stream's size and the last block's
gradient depend on depth. The figures of set-up norms are held against published laws.

Set-up norms draws all matrices alike (Xavier; embeddings N(0, 1/width)), so that exponents are the placements' own. Besides placements it knows
pre+scaled and lns+scaled (writers of the stream at 1/sqrt(2N)), dyt (pre with DyT in place of the norm) and deepnorm+up (deepnorm with the factor
(8N)^(+1/4), a mistake of two public code bases). Set-up own gives each placement the initial values that it asks for.`,
		Example: `  prenorm lab init                                  # the laws, about a minute on two cores
  prenorm lab init --placements pre,pre+scaled --depths 4,8,16
  prenorm lab init --setup own --placements pre,post,sandwich --widths 32,128`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().StringVar(&f.setup, "setup", def.Setup, "how models are made: "+strings.Join(lab.SetupNames(), " or "))
	f.placementsFlag(cmd, "post", "pre", "pre+scaled", "deepnorm", "keel", "residual", "sandwich", "lns", "hybrid")
	wholesVar(cmd.Flags(), &f.depths, "depths", def.Depths, "4,8", "numbers of `blocks`, separated by commas")
	wholesVar(cmd.Flags(), &f.widths, "widths", nil, "32,64", "`widths`, separated by commas (default: the set-up's, 64)")
	f.seedsFlag(cmd, def.Seeds...)
	cmd.Flags().StringVar(&f.kind, "init", "", "initial values for all, in place of the set-up's: `fan_in, xavier or gpt2`")
	f.outFlag(cmd, "init")
	f.deviceFlags(cmd)
	return cmd
}

func (f *labInitFlags) run(cmd *cobra.Command) error {
	setup, ok := lab.Setups()[f.setup]
	if !ok {
		return wrongUsage(cmd, "--setup %q: wants %s", f.setup, strings.Join(lab.SetupNames(), " or "))
	}
	if err := f.check(cmd, setup.Names()); err != nil {
		return err
	}
	o := lab.InitOptions{Setup: f.setup, Variants: f.placements, Depths: f.depths, Widths: f.widths, Seeds: f.seeds, Kind: f.kind}
	if len(o.Widths) == 0 {
		o.Widths = []int{0}
	}
	if err := o.Check(); err != nil {
		return wrongUsage(cmd, "%w", err)
	}
	be, err := openBackend(f.device, kernels.Options{Workers: f.workers}, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer be.Close()
	result, err := lab.Init(cmd.Context(), be, o, func(name string) { note(cmd.ErrOrStderr(), "measured %s", name) })
	if err != nil {
		return err
	}
	return f.write(cmd, result.Report())
}
