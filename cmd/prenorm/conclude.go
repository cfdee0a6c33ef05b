package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/train"
)

// conclude says how the run ended and what to do next.
func conclude(ctx context.Context, cmd *cobra.Command, again, dir string, r configs.Run, o train.Outcome) error {
	out := cmd.OutOrStdout()
	if o.Stopped == "" {
		fmt.Fprintf(out, "done: step %d of %d, checkpoint %s\n", o.Step, o.Steps, o.Checkpoint)
		prompt := ""
		if text := r.Train.Sample.Prompt; text != "" {
			prompt = " --prompt " + shellWord(text)
		}
		fmt.Fprintf(out, "next: %s sample %s%s\n", programName(), shellWord(dir), prompt)
		return nil
	}
	if o.Checkpoint == "" && o.Step > 0 {
		fmt.Fprintf(out, "stopped: %s before the first step of this session, the run is as it was\nto go on: %s\n", o.Stopped, again)
	} else if o.Checkpoint == "" {
		fmt.Fprintf(out, "stopped: %s before the first step, nothing was trained\nto start: %s\n", o.Stopped, again)
	} else {
		fmt.Fprintf(out, "stopped: %s at step %d of %d, saved as %s\nto go on: %s\n", o.Stopped, o.Step, o.Steps, o.Checkpoint, again)
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return nil
}

// again is the command line that goes on with the run. unbegun says that it has not begun, so that what was set aside is put back.
func (f *trainFlags) again(cmd *cobra.Command, source runSource, unbegun bool) string {
	again := commandLine(cmd, source.path, "max-step")
	switch {
	case unbegun && f.fresh:
		again += " --fresh"
	case unbegun && f.fromStep >= 0:
		again += fmt.Sprintf(" --from-step %d", f.fromStep)
	}
	return again
}

// cutShort says of a Ctrl-C while checkpoints were read that nothing has begun; other errors stay as they are.
func (f *trainFlags) cutShort(cmd *cobra.Command, source runSource, err error) error {
	if errors.Is(err, errInterrupted) {
		fmt.Fprintf(cmd.OutOrStdout(), "stopped: interrupted before the first step of this session, the run is as it was\nto go on: %s\n", f.again(cmd, source, true))
		return errInterrupted
	}
	return err
}

// anotherRun says what a finished run leaves to do.
func (f *trainFlags) anotherRun(source runSource) string {
	another := "--set name=NAME starts another in a folder of its own"
	if source.own || f.out != "" {
		another = "a run file with another --out starts another"
	}
	return "--fresh starts it anew (the old one is kept), " + another + ", --set train.steps=N makes it longer"
}
