package train

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prenorm/train/checkpoint"
)

// TestPolicyChanges goes on under another policy and back: the state to go back to is not that of long ago.
func TestPolicyChanges(t *testing.T) {
	j := guarded(t, GuardRewind)
	for _, part := range []struct {
		policy string
		to     int64
	}{{GuardRewind, 5}, {GuardSkip, 9}, {GuardRewind, 26}} {
		j.Train.Guard.Policy, j.MaxStep = part.policy, part.to
		if o, err := runOn(faults(13, math.NaN()), j); err != nil || o.Step != part.to {
			t.Fatalf("%s to step %d: %+v, %v", part.policy, part.to, o, err)
		}
	}
	held, _ := events(t, j)
	for _, e := range held {
		if e.Attempt > 9 && e.To < 9 {
			t.Errorf("step %d went back to %d, before the policy was set", e.Attempt, e.To)
		}
	}
}

// TestSavedBeforeExplained wants a run that stops to have its state on disk before it writes the bundle that explains why.
func TestSavedBeforeExplained(t *testing.T) {
	j := guarded(t, GuardStop)
	j.Checkpoint.Background = BackgroundAlways
	looked := 0
	withFS(t, func(op, path string) error {
		if op == "create" && strings.Contains(filepath.ToSlash(path), "/"+BundleFolder+"/") {
			looked++
			if there, err := checkpoint.List(checkpoint.OS, checkpointRoot(j.Dir)); err != nil || len(there) == 0 {
				t.Errorf("no checkpoint is there: %v", err)
			}
		} else if strings.HasSuffix(path, "model.safetensors") {
			time.Sleep(50 * time.Millisecond) // a save that nobody waits for is late
		}
		return nil
	})
	if _, err := runOn(faults(1, math.NaN()), j); err == nil || looked == 0 {
		t.Errorf("%v; the bundle was looked at %d times", err, looked)
	}
}

// TestStopSaysWhatIsSaved wants a run that stops at a step and cannot save the state before it to say that, and not that it did.
func TestStopSaysWhatIsSaved(t *testing.T) {
	for _, background := range []string{BackgroundAlways, BackgroundNever} {
		for _, full := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, full %v", background, full), func(t *testing.T) {
				j := guarded(t, GuardStop)
				j.Checkpoint.Background = background
				withFS(t, func(op, path string) error {
					if full && op == "write" && strings.Contains(filepath.ToSlash(path), "/"+CheckpointFolder+"/") {
						return errDisk
					}
					return nil
				})
				o, err := runOn(faults(1, math.NaN()), j)
				if err == nil || errors.Is(err, errDisk) != full || strings.Contains(err.Error(), "the state before it could not be saved") != full ||
					strings.Contains(err.Error(), "the state before it is saved") == full || (o.Checkpoint == "") != full {
					t.Errorf("%+v, %v", o, err)
				}
			})
		}
	}
}
