package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"prenorm/train"
	"prenorm/train/checkpoint"
)

// keepsAll is what both runs of verify-resume keep: a run of short steps must not have removed what it is to go on from before it is killed.
const keepsAll = "checkpoint.keep=0"

// savedStep is the step of the newest checkpoint in a run's folder, by its name; -1 without one.
func savedStep(dir string) int64 {
	entries, err := checkpoint.List(checkpoint.OS, filepath.Join(dir, train.CheckpointFolder))
	if err != nil || len(entries) == 0 {
		return -1
	}
	return entries[len(entries)-1].Step
}

// putBack returns the step that the killed run goes on from. A run of short steps may have come to its end when it is killed, and going on from there
// would show nothing: the checkpoints of step 2 K are removed.
func (v *resumeCheck) putBack(dir string) (int64, error) {
	entries, err := checkpoint.List(checkpoint.OS, filepath.Join(dir, train.CheckpointFolder))
	if err != nil {
		return 0, err
	}
	for n := len(entries); n > 0; n-- {
		e := entries[n-1]
		if e.Step < 2*int64(v.steps) {
			return e.Step, nil
		}
		if err := os.RemoveAll(e.Dir); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("%s: the process that was killed had saved no checkpoint to go on from", dir)
}

// goOn has the killed run go on, and says where it did not do so from its checkpoint: without one, or with one that it refuses, it would come to the
// same end.
func (v *resumeCheck) goOn(ctx context.Context, dir string) (differ string, err error) {
	workers := v.workers
	if v.other > 0 {
		workers = v.other
	}
	said, err := v.train(ctx, dir, workers, 0)
	if err != nil || strings.Contains("\n"+said, fmt.Sprintf("\nresumed from step %d of ", v.at)) {
		return "", err
	}
	return fmt.Sprintf("training did not go on from the checkpoint of step %d:\n%s", v.at, said), nil
}
