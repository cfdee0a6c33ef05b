package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/data/dataset"
	"prenorm/train"
	"prenorm/train/checkpoint"
	"prenorm/train/metrics"
)

// ended is how a run failed, in words of their own, with the error behind them.
type ended struct {
	text string
	err  error
}

func (e ended) Error() string { return e.text }
func (e ended) Unwrap() error { return e.err }

// explain says of a run that failed which of its steps are lost, and, where the disk is full, what to do.
func (f *trainFlags) explain(cmd *cobra.Command, source runSource, err error) error {
	if err == nil || errors.Is(err, errInterrupted) && !train.DiskFull(err) { // what is saved was said, or nothing was trained
		return err
	}
	if errors.Is(err, checkpoint.ErrMoved) { // what is at the path is not this run
		return err
	}
	newest, _, newestErr := train.Newest(checkpoint.OS, source.dir)
	if newestErr != nil {
		newest = ""
	}
	lost := f.lost(newest)
	if !train.DiskFull(err) {
		if lost == "" || errors.Is(err, errInterrupted) {
			return err
		}
		return fmt.Errorf("%w\n%s", err, lost)
	}
	var b strings.Builder
	cause := err.Error()
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		cause = at.Error()
	}
	fmt.Fprintf(&b, "the disk is full: %s\n", cause)
	switch {
	case lost != "":
		b.WriteString(lost)
	case f.outcome.Step > 0 && newest != "":
		fmt.Fprintf(&b, "step %d of %d was reached, and is saved as %s: no step is lost", f.outcome.Step, f.outcome.Steps, newest)
	default:
		b.WriteString("nothing was trained")
	}
	room, folder := "", source.dir
	if full := (*dataset.Full)(nil); errors.As(err, &full) {
		folder = full.Folder
		if tells := full.Tells(); tells != "" {
			b.WriteString(": " + tells)
		}
	} else if a, err := checkpoint.Audit(checkpoint.OS, newest); newest != "" && err == nil {
		room = fmt.Sprintf(" (a checkpoint takes %s)", metrics.Bytes(a.Bytes))
	}
	again := f.again(cmd, source, f.outcome == (train.Outcome{}))
	fmt.Fprintf(&b, "\nmake room on the disk of %s%s, then go on with:\n  %s", folder, room, again)
	return ended{b.String(), err}
}

// lost says which steps of the run are in no checkpoint; "" where there are none. newest is the newest whole one.
func (f *trainFlags) lost(newest string) string {
	at, whole := int64(0), "there is no whole checkpoint"
	if newest != "" {
		at, whole = stepOf(newest), fmt.Sprintf("the newest whole checkpoint is %s", newest)
	}
	if f.outcome.Step <= at {
		return ""
	}
	return fmt.Sprintf("step %d of %d was reached, and %s: %s lost and will be trained again", f.outcome.Step, f.outcome.Steps, whole, areSteps(f.outcome.Step-at))
}

func areSteps(n int64) string {
	if n == 1 {
		return "1 step is"
	}
	return fmt.Sprintf("%d steps are", n)
}
