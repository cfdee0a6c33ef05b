package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"prenorm/kernels"
	"prenorm/train/lab"
)

type reproFlags struct {
	labFlags
	quick, full bool
	jobs        int
}

func newRepro() *cobra.Command {
	f := &reproFlags{}
	cmd := &cobra.Command{
		Use:   "repro",
		Short: "hold what is said of norm placements against small models: the scorecard",
		Long: `Measure published and often repeated claims on norm placements with small models: each row says what is claimed and where, what was measured with its
spread over seeds, and whether the claim holds, does not hold, or cannot be told at this size. The text is the one that every Go installation
carries, byte by byte.

--quick takes under five minutes on two quiet cores; --full trains wider and deeper models for longer, over night. Finished training runs are kept in
the folder, so that an interrupted reproduction goes on.`,
		Example: `  prenorm repro                                     # the same as --quick
  prenorm repro --full --out runs/lab/full`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().BoolVar(&f.quick, "quick", false, "minutes on two cores (the default)")
	cmd.Flags().BoolVar(&f.full, "full", false, "a night")
	cmd.Flags().IntVar(&f.jobs, "jobs", 0, "runs at once on the CPU, each with one thread, 0 = as many as there are cores")
	f.outFlag(cmd, "repro")
	f.deviceFlags(cmd)
	return cmd
}

func (f *reproFlags) run(cmd *cobra.Command) error {
	if err := exclusive(cmd, "quick", "full"); err != nil {
		return err
	}
	if f.jobs < 0 {
		return wrongUsage(cmd, "--jobs %d: wants 0 or more", f.jobs)
	}
	if err := mayBeFolder(cmd, "out", f.out); err != nil {
		return err
	}
	scale := lab.Quick()
	if f.full {
		scale = lab.Full()
	}
	return f.measure(cmd, scale)
}

// measure runs a reproduction and writes its page.
func (f *reproFlags) measure(cmd *cobra.Command, scale lab.Scale) error {
	ctx, release := interruptible(cmd.Context(), cmd.ErrOrStderr(), keepsRuns, quitting(cmd))
	defer release()
	text, err := lab.OpenText(lab.Opticks(), filepath.Join(f.out, "data"), stopOf(ctx))
	if err != nil {
		return err
	}
	defer text.Close()
	began := time.Now()
	backends := lab.Backends{
		Fast: func() (kernels.Backend, error) {
			return openBackend("cpu", kernels.Options{Workers: f.workers}, cmd.ErrOrStderr())
		},
		Ref: func() (kernels.Backend, error) { return openKernels("ref", kernels.Options{}) },
	}
	card, err := lab.Repro(ctx, scale, backends, newRunner(cmd, f.out, text, f.device, f.workers, f.jobs), func(line string) { note(cmd.ErrOrStderr(), "%s", line) })
	if ctx.Err() != nil {
		note(cmd.OutOrStdout(), "stopped; the same command goes on with the runs that are left")
		return errInterrupted
	}
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintln(out, card)
	path, err := card.Report().Write(f.out)
	if err == nil {
		err = os.WriteFile(filepath.Join(f.out, "scorecard.md"), []byte(card.Table().Markdown()), 0o666)
	}
	if err == nil {
		fmt.Fprintf(out, "\nwritten: %s (%.0f s)\n", path, time.Since(began).Seconds())
	}
	return err
}
