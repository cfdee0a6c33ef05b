package train

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"prenorm/kernels/cpu"
	"prenorm/train/checkpoint"
)

// TestGoodIsSavedUncopied wants a checkpoint to hold the state that the guard goes back to, and no second copy of it to be made for that.
func TestGoodIsSavedUncopied(t *testing.T) {
	be := cpu.New(1)
	defer be.Close()
	j := guarded(t, GuardRewind)
	j.Model.Width = 128
	l := &loop{Job: j, be: be}
	if err := os.MkdirAll(l.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := l.prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if err := l.step(context.Background()); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := errors.Join(l.save(), l.settle()); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	state := HeldBytes(l.weights.Table, l.weights.BufferTable, len(l.stepper.Moments()))
	if n := int64(after.TotalAlloc - before.TotalAlloc); n > state/2 {
		t.Errorf("%d bytes are allocated to save a state of %d", n, state)
	}
	c, err := checkpoint.Load(checkpoint.OS, l.newest)
	if err != nil {
		t.Fatal(err)
	}
	again, err := newHeld(l.weights, l.stepper)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Free()
	if err := again.load(c, goodFile); err != nil {
		t.Fatal(err)
	}
	if d := differences(t, l.good, again); !d.Same() {
		t.Errorf("not what is gone back to: %v", d)
	}
}

// TestGoodIsSavedAsItWas holds up the writing of the state to go back to until a newer one is due, and wants the files of a run that waits for
// every save.
func TestGoodIsSavedAsItWas(t *testing.T) {
	withFS(t, func(op, path string) error {
		if op == "create" && filepath.Base(path) == goodFile {
			time.Sleep(30 * time.Millisecond)
		}
		return nil
	})
	var kept []map[string]string
	for _, background := range []string{BackgroundAlways, BackgroundNever} {
		j := guarded(t, GuardRewind)
		j.Checkpoint.Every, j.Checkpoint.Background = j.Train.Guard.Every, background
		if _, err := runOn(faults(13, math.NaN()), j); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, result(t, j.Dir))
	}
	if a, b := slices.Sorted(maps.Keys(kept[0])), slices.Sorted(maps.Keys(kept[1])); len(a) < 20 || !slices.Equal(a, b) {
		t.Fatalf("files %v and %v", a, b)
	}
	for name, content := range kept[0] {
		if kept[1][name] != content {
			t.Errorf("%s differs", name)
		}
	}
}

// TestWildStateIsNotGood wants no state to be taken for a good one whose loss is far above that of guessing, with a window and without.
func TestWildStateIsNotGood(t *testing.T) {
	w, s, step := heldRun(t)
	defer s.Free()
	step()
	for _, sigma := range []float64{0, 6} {
		c := Guard{Policy: GuardRewind, Sigma: sigma, Window: 4, Every: 3}
		l := &loop{weights: w, stepper: s, saver: checkpoint.NewSaver(checkpoint.OS, t.TempDir())}
		l.Train.Guard, l.Model.Vocab = c, 256 // of which guessing has a loss of 5.545
		l.state.Guard = feed(c, 1e14, 1e14, 1e14, 1e14)
		var err error
		if l.good, err = newHeld(w, s); err != nil {
			t.Fatal(err)
		}
		defer l.good.Free()
		if err := l.keepGood(); err != nil {
			t.Fatal(err)
		}
		for i, loss := range []float64{1e14, 11.1, 11} {
			l.state.Step = int64(9 + i)
			l.limit()
			if err := s.between(Result{loss, 1, 1}); err != nil {
				t.Fatal(err)
			}
			if good := l.state.Guard.Good.Step; (good > 0) != (loss == 11) {
				t.Errorf("sigma %g, a loss of %g: the good state is of step %d", sigma, loss, good)
			}
		}
	}
}
