package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"prenorm/kernels"
	"prenorm/kernels/cpu"
	"prenorm/train/checkpoint"
	"prenorm/train/checkpoint/checkpointtest"
	"prenorm/train/metrics"
)

// withFS has checkpoints asked about every operation that writes, during a test.
func withFS(t *testing.T, before func(op, path string) error) {
	t.Helper()
	real := checkpoint.OS
	checkpoint.OS = checkpointtest.Hooked{FS: real, Before: before}
	t.Cleanup(func() { checkpoint.OS = real })
}

var errDisk = errors.New("no space left on device")

// TestBackgroundFailureSurfaces fails the first save, and wants the run to end at a step after it with the reason, and no work to be lost where the
// disk has room again. No other save is due, which would wait for the first and tell of it too.
func TestBackgroundFailureSurfaces(t *testing.T) {
	for _, c := range []struct {
		name  string
		saved bool // only the first write fails, and the save at the end, perhaps of the same step, does not
	}{
		{"for a moment", true},
		{"for good", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := context.Background()
			be := cpu.New(1)
			defer be.Close()
			l := &loop{Job: tinyJob(t), be: be}
			l.Train.Steps, l.Checkpoint.Every, l.Checkpoint.KeepBest = 20_000, 2, 0
			l.Train.Inspect.Every, l.Train.Eval.Every, l.Train.Sample.Every, l.Train.Log.Every = 0, 0, 0, 0
			failed := make(chan struct{})
			var once sync.Once
			withFS(t, func(op, path string) error {
				first := false
				if op == "write" {
					once.Do(func() { close(failed); first = true })
				}
				if first || op == "write" && !c.saved {
					return errDisk
				}
				return nil
			})
			err := os.MkdirAll(l.Dir, 0o755)
			if err == nil {
				err = l.prepare(ctx)
			}
			for err == nil && l.state.Step < 2 {
				err = l.step(ctx)
			}
			if err != nil {
				t.Fatal(err)
			}
			l.Checkpoint.Every = 0
			<-failed // what is left of that save is to tell of it, while thousands of steps could be taken
			for err == nil && l.state.Step < int64(l.Train.Steps)-1 {
				err = l.step(ctx)
			}
			if !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "step-00000002: not saved") {
				t.Errorf("went on to step %d: %v", l.state.Step, err)
			}
			err = l.ending(err)
			dir, _, findErr := checkpoint.Latest(checkpoint.OS, checkpointRoot(l.Dir))
			if findErr != nil || (dir != "") != c.saved || dir != l.newest || c.saved && !strings.HasSuffix(dir, fmt.Sprintf("%08d", l.state.Step)) {
				t.Errorf("saved %q, at step %d, %v, %v", dir, l.state.Step, err, findErr)
			}
			if err := l.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLastSaveFails fails the save of the last step, once: the end waits for it and tries again.
func TestLastSaveFails(t *testing.T) {
	for _, background := range []string{BackgroundAlways, BackgroundNever} {
		j := tinyJob(t)
		j.Checkpoint.Background = background
		var failed atomic.Int32
		withFS(t, func(op, path string) error {
			if op == "syncdir" && strings.Contains(path, "tmp-step-00000013") && failed.Add(1) == 1 {
				return errDisk
			}
			return nil
		})
		_, err := finish(t, j)
		dir, _, findErr := checkpoint.Latest(checkpoint.OS, checkpointRoot(j.Dir))
		if !errors.Is(err, errDisk) || findErr != nil || !strings.HasSuffix(dir, "step-00000013") {
			t.Errorf("%s: saved %q, %v, %v", background, dir, err, findErr)
		}
	}
}

// TestMeasurementsFirst wants no checkpoint where the measurements up to it cannot be made durable.
func TestMeasurementsFirst(t *testing.T) {
	be := cpu.New(1)
	defer be.Close()
	l := &loop{Job: tinyJob(t), be: be}
	if err := os.MkdirAll(l.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	err := l.prepare(context.Background())
	if err == nil {
		err = l.step(context.Background())
	}
	if err == nil {
		err = l.metrics.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(l.save(), l.settle())
	if dir, _, findErr := checkpoint.Latest(checkpoint.OS, checkpointRoot(l.Dir)); !errors.Is(err, os.ErrClosed) || dir != "" || findErr != nil {
		t.Errorf("saved %q, %v, %v", dir, err, findErr)
	}
	if err := l.close(); err != nil {
		t.Error(err)
	}
}

// TestSavesInWhatIsLeft wants the state to be saved where a moment after an error there is room for the measurements, and not where there is none.
func TestSavesInWhatIsLeft(t *testing.T) {
	for _, room := range []bool{true, false} {
		be := cpu.New(1)
		defer be.Close()
		l := &loop{Job: tinyJob(t), be: be}
		if err := os.MkdirAll(l.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		err := l.prepare(context.Background())
		if err == nil {
			err = l.step(context.Background())
		}
		if !room {
			err = errors.Join(err, l.metrics.Close())
			if l.metrics.Write(metrics.Note{Step: 1}) == nil {
				t.Error("a closed file was written to")
			}
		}
		if err = errors.Join(err, l.saveInWhatIsLeft()); err != nil {
			t.Error(err)
		}
		if dir, _, err := checkpoint.Latest(checkpoint.OS, checkpointRoot(l.Dir)); err != nil || (dir != "") != room {
			t.Errorf("room %v: saved %q, %v", room, dir, err)
		}
		if err := l.close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSecondSaveWaits holds up the writing of the first checkpoint until the second is due, and wants both to be whole.
func TestSecondSaveWaits(t *testing.T) {
	be := cpu.New(1)
	defer be.Close()
	checkSecondSave(t, be)
}

// checkSecondSave runs that test on a backend.
func checkSecondSave(t *testing.T, be kernels.Backend) {
	j := tinyJob(t)
	j.Train.Steps, j.Checkpoint.Keep, j.Checkpoint.KeepBest, j.Train.Eval.Every, j.Train.Sample.Every = 9, 0, 0, 0, 0
	j.Checkpoint.Background = BackgroundAlways
	wait := make(chan struct{})
	var at, most atomic.Int32
	var once sync.Once
	withFS(t, func(op, path string) error {
		if op != "create" || filepath.Base(path) != "model.safetensors" {
			return nil
		}
		if n := at.Add(1); n > most.Load() {
			most.Store(n)
		}
		if strings.Contains(path, "step-00000004") {
			once.Do(func() { time.AfterFunc(500*time.Millisecond, func() { close(wait) }) }) // what waits for nothing is long past the second save by then
			<-wait
		}
		at.Add(-1)
		return nil
	})
	if _, err := Run(context.Background(), be, j); err != nil {
		t.Fatal(err)
	}
	entries, err := checkpoint.List(checkpoint.OS, checkpointRoot(j.Dir))
	if err != nil || len(entries) != 3 || most.Load() != 1 {
		t.Errorf("%v, %v, %d at once", entries, err, most.Load())
	}
	for _, e := range entries {
		if _, err := checkpoint.Audit(checkpoint.OS, e.Dir); err != nil {
			t.Error(err)
		}
		alone := j // a run that ends with that step changes nothing while it saves
		alone.Dir, alone.MaxStep = t.TempDir(), e.Step
		if _, err := Run(context.Background(), be, alone); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"model.safetensors", "optimizer.safetensors"} {
			have, err := os.ReadFile(filepath.Join(e.Dir, name))
			want, also := os.ReadFile(filepath.Join(checkpointRoot(alone.Dir), filepath.Base(e.Dir), name))
			if err := errors.Join(err, also); err != nil || !bytes.Equal(have, want) {
				t.Errorf("%s of %s is not that of a run which ends there; %v", name, e.Dir, err)
			}
		}
	}
}

// TestSavesByTheClock saves at every step by an interval that has always passed, and at none by one that never does.
func TestSavesByTheClock(t *testing.T) {
	for minutes, want := range map[float64]int{1e-12: 13, 1e6: 1, 0: 1} {
		j := tinyJob(t)
		j.Train.Eval.Every, j.Train.Sample.Every = 0, 0
		j.Checkpoint = Checkpoint{Minutes: minutes, Background: BackgroundAlways}
		if _, err := finish(t, j); err != nil {
			t.Fatal(err)
		}
		if entries, err := checkpoint.List(checkpoint.OS, checkpointRoot(j.Dir)); err != nil || len(entries) != want {
			t.Errorf("%v minutes: %d checkpoints, want %d; %v", minutes, len(entries), want, err)
		}
	}
}

// TestBackgroundWantsMemory: the copy is left out where memory is short, and that is said.
func TestBackgroundWantsMemory(t *testing.T) {
	const huge = int64(math.MaxInt64)
	for _, c := range []struct {
		word  string
		bytes int64
		want  bool
	}{{BackgroundAuto, 1, true}, {"", 1, true}, {BackgroundAuto, huge, false}, {BackgroundAlways, huge, true}, {BackgroundNever, 1, false}} {
		background, why := (Checkpoint{Background: c.word}).InBackground(c.bytes, 0)
		if background != c.want || (why != "") != (c.bytes == huge && !c.want) {
			t.Errorf("%q, %d bytes: %v, %q", c.word, c.bytes, background, why)
		}
	}
}

// TestBackgroundAfterPlan: memory that the run itself will take is not there for the copy.
func TestBackgroundAfterPlan(t *testing.T) {
	left, known := kernels.HostLeft()
	if !known {
		t.Skip("nobody knows how much memory this machine has")
	}
	for planned, want := range map[int64]bool{0: true, left: false, math.MaxInt64: false} {
		if background, why := (Checkpoint{Background: BackgroundAuto}).InBackground(left/4, planned); background != want {
			t.Errorf("%d of %d bytes planned: %v, %q", planned, left, background, why)
		}
	}
}

// TestWaysOfSavingAgree wants the same files, whether training waits or not.
func TestWaysOfSavingAgree(t *testing.T) {
	var kept []map[string]string
	for _, background := range []string{BackgroundAlways, BackgroundNever} {
		j := tinyJob(t)
		j.Checkpoint.Background = background
		if _, err := finish(t, j); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, result(t, j.Dir))
	}
	if len(kept[0]) < 10 || len(kept[0]) != len(kept[1]) {
		t.Fatalf("%d and %d files", len(kept[0]), len(kept[1]))
	}
	for name, content := range kept[0] {
		if kept[1][name] != content {
			t.Errorf("%s differs", name)
		}
	}
}
