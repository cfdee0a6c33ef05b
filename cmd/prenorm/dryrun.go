package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/kernels"
	"prenorm/train"
	"prenorm/train/checkpoint"
	"prenorm/train/metrics"
)

// rehearse is train --dry-run.
func (f *trainFlags) rehearse(ctx context.Context, cmd *cobra.Command, be kernels.Backend, loaded *configs.Loaded, source runSource) error {
	if _, err := f.checkRun(cmd, loaded, source); err != nil {
		return err
	}
	room := newRoom(be, loaded.Run, source.dir, f.anyway)
	r, err := train.Rehearse(ctx, be, f.job(ctx, cmd, loaded, source, room))
	if ctx.Err() != nil {
		note(cmd.OutOrStdout(), "stopped: nothing is kept but text that was prepared, in %s", room.cache())
		return errInterrupted
	}
	if err != nil {
		return f.failed(cmd, be, loaded, source, err)
	}
	for _, c := range r.Refused {
		note(cmd.ErrOrStderr(), "warning: an older checkpoint is gone on from, because %s", c)
	}
	dryRun{room, loaded.Run, r}.print(cmd.OutOrStdout())
	return nil
}

// dryRun is what a rehearsal found.
type dryRun struct {
	*room
	run configs.Run
	train.Rehearsal
}

func (d dryRun) print(w io.Writer) {
	from := "a new run"
	if d.Step > 0 {
		from = fmt.Sprintf("the run at step %d", d.Step)
	}
	fmt.Fprintf(w, "dry run of %s: %d steps of %s on %s\n", d.run.Name, d.Measured, from, d.be.Name())
	if d.Step >= int64(d.run.Train.Steps) {
		fmt.Fprintf(w, "the run is done: it is at step %d of %d, and nothing is left to train; --set train.steps=N makes it longer\n", d.Step, d.run.Train.Steps)
	}
	t := newTable()
	d.printMemory(t)
	perStep := int64(d.run.Train.Batch) * int64(d.run.Model.Context) * int64(max(d.run.Train.Accumulate, 1))
	t.row("speed", fmt.Sprintf("%s tokens/s", metrics.Count(float64(perStep)/max(d.Update.Seconds(), 1e-9))),
		fmt.Sprintf("the faster of the last two of %d steps, %s each", d.Measured, precise(d.Update)))
	d.printTime(t)
	all := perStep * int64(d.run.Train.Steps)
	t.row("tokens", metrics.Count(float64(all)), fmt.Sprintf("%.3g a parameter (about 20 is best for the arithmetic spent: Hoffmann et al. 2022), %.3g times the text's %s",
		float64(all)/float64(max(d.Parameters, 1)), float64(all)/float64(max(d.Data.Train.Tokens, 1)), metrics.Count(float64(d.Data.Train.Tokens))))
	d.printDisk(t)
	t.write(w, "  ")
	fmt.Fprintf(w, "nothing of it is kept but the prepared text, in %s\n", d.cache())
}

// printMemory sets what was planned beside what was seen.
func (d dryRun) printMemory(t *table) {
	m := d.plan.Memory
	seen := func(bytes int64) string {
		if bytes <= 0 {
			return "not known on this system"
		}
		return metrics.Bytes(bytes)
	}
	free := "not known"
	if d.hostFree > 0 {
		free = metrics.Bytes(d.hostFree)
	}
	if d.device > 0 {
		t.row("memory, device", metrics.Bytes(m.Total)+" planned", fmt.Sprintf("%s seen, %s were free", seen(d.Device), metrics.Bytes(d.deviceFree)))
		t.row("memory, host", metrics.Bytes(m.copies())+" planned", fmt.Sprintf("for copies of the state and the last batches; %s seen before that, with the program itself, %s were free", seen(d.Host), free))
		return
	}
	t.row("memory", metrics.Bytes(m.Total)+" planned", fmt.Sprintf("and %s for copies of the state and the last batches; %s seen before that, with the program itself, %s were free", metrics.Bytes(m.copies()), seen(d.Host), free))
}

// printTime says how long the rest of the run takes.
func (d dryRun) printTime(t *table) {
	steps := int64(d.run.Train.Steps)
	left := steps - d.Step
	evals, samples := train.Falls(d.run.Train.Eval.Every, d.Step, steps), train.Falls(d.run.Train.Sample.Every, d.Step, steps)
	parts := [...]time.Duration{times(left, d.Update), times(evals, d.Validation), times(samples, d.Sample)}
	t.row("time to the end", metrics.Duration(parts[0]+parts[1]+parts[2]), fmt.Sprintf("%s %s, %s %s, %s %s; saving is not counted",
		counted(int(left), "step"), metrics.Duration(parts[0]), counted(int(evals), "validation"), metrics.Duration(parts[1]), counted(int(samples), "sample"), metrics.Duration(parts[2])))
}

// printDisk says what is still to be written.
func (d dryRun) printDisk(t *table) {
	free := "what is free is not known on this system"
	if d.diskFree >= 0 {
		free = metrics.Bytes(d.diskFree) + " are free"
	}
	there, _ := checkpoint.List(checkpoint.OS, filepath.Join(d.dir, train.CheckpointFolder))
	t.row("disk", metrics.Bytes(d.disk), fmt.Sprintf("for at most %s at one time beside %d there, of %s each, and %s of steps held back, of %s each; %s", counted(int(d.checkpoints), "checkpoint"), len(there),
		metrics.Bytes(d.plan.Memory.checkpoint()), counted(int(d.bundles), "bundle"), metrics.Bytes(d.plan.Memory.bundle()), free))
	var shards int64
	for _, path := range filesLike(d.cache(), "*.tokens") {
		shards += sizeOf(path)
	}
	t.row("", metrics.Bytes(shards), "of token files, which are there now")
}

// times is n durations, or the longest there is.
func times(n int64, d time.Duration) time.Duration {
	if long := float64(n) * float64(d); long >= float64(1<<63-1) {
		return 1<<63 - 1
	}
	return time.Duration(n) * d
}

// precise is a duration with three significant digits.
func precise(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
