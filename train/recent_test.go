package train

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prenorm/data/batch"
	"prenorm/kernels/cpu"
	"prenorm/train/metrics"
)

// batchesOfRun reads the batches of a run's first steps, each into memory of its own, without the run.
func batchesOfRun(t *testing.T, j Job, steps int) (all [][]*batch.Batch) {
	t.Helper()
	be := cpu.New(1)
	defer be.Close()
	j.Dir = t.TempDir()
	l := &loop{Job: j, be: be}
	if err := l.prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer l.close()
	for range steps {
		var micros []*batch.Batch
		for range j.Train.Accumulate {
			m := &batch.Batch{}
			if err := l.batches.Next(m); err != nil {
				t.Fatal(err)
			}
			micros = append(micros, m)
		}
		all = append(all, micros)
	}
	return all
}

// bundlesOf are the bytes of a run's bundles by name.
func bundlesOf(t *testing.T, j Job) map[string]string {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(j.Dir, BundleFolder, "*"+bundleSuffix))
	all := map[string]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(path)] = string(data)
	}
	return all
}

// spoiledJobs are runs with steps held back: of one text, and of several with documents packed whole and closed.
func spoiledJobs(t *testing.T, policy string) map[string]Job {
	one, several := guarded(t, policy), sourcesJob(t)
	several.Data.Packing, several.Data.Cross = "documents", false
	several.Train, several.Checkpoint = one.Train, one.Checkpoint
	several.Train.Guard.Bundles = 9
	return map[string]Job{"one text": one, "sources": several}
}

// spoils is the backend for them.
var spoils = map[string]int{"one text": 13, "sources": 7}

// TestBundleHasStepsBefore wants a bundle to have the batches of the steps before the one that failed as they were trained on, with their losses
// and gradient norms as they were measured, and to say which of them were held back too.
func TestBundleHasStepsBefore(t *testing.T) {
	for name, j := range spoiledJobs(t, GuardSkip) {
		if _, err := runOn(faults(spoils[name], math.NaN()), j); err != nil {
			t.Fatal(err)
		}
		want := batchesOfRun(t, j, j.Train.Steps)
		held, trained := events(t, j)
		stopped := map[int64]metrics.Guard{}
		for _, e := range held {
			stopped[e.Attempt] = e
		}
		most, heldBefore := 0, 0
		for file := range bundlesOf(t, j) {
			b, err := ReadBundle(filepath.Join(j.Dir, BundleFolder, file))
			if err != nil {
				t.Fatal(err)
			}
			if n := min(int(b.Report.Step)-1, RecentSteps); len(b.Before) != n || len(b.Report.Before) != n {
				t.Fatalf("%s: step %d has the batches of %d steps before it", name, b.Report.Step, len(b.Before))
			}
			most = max(most, len(b.Before))
			for i, micros := range append(b.Before, b.Micros) {
				step := b.Report.Step - int64(len(b.Before)) + int64(i)
				for k, m := range micros {
					w := want[step-1][k]
					if !slices.Equal(m.Inputs, w.Inputs) || !slices.Equal(m.Targets, w.Targets) || !slices.Equal(m.Docs, w.Docs) || (m.Docs == nil) != j.Data.Cross {
						t.Errorf("%s: in the bundle of step %d, micro-batch %d of step %d is another", name, b.Report.Step, k, step)
					}
				}
				if step == b.Report.Step {
					break
				}
				r, record := b.Report.Before[i], trained[step]
				if e, ok := stopped[step]; ok {
					record = metrics.Train{Loss: e.Loss, GradNorm: e.GradNorm}
					heldBefore++
				}
				if _, ok := stopped[step]; r.Held != ok || r.Step != step || !sameBits(float64(r.Loss), float64(record.Loss)) || !sameBits(float64(r.GradNorm), float64(record.GradNorm)) {
					t.Errorf("%s: %+v of step %d before %d, recorded as %+v", name, r, step, b.Report.Step, record)
				}
			}
			for i, r := range b.Report.Before {
				if line := b.BeforeLines()[i]; !strings.HasPrefix(line, r.String()+"  ") || strings.Contains(line, "held back") != r.Held || !strings.HasSuffix(line, fmt.Sprintf("  %d tokens to predict", targets(b.Before[i]))) ||
					strings.Count(b.BeforeText, r.String()+"\n\nmicro-batch 0, sequence 0:\n") != 1 {
					t.Errorf("%s: line %q; text %.300q", name, line, b.BeforeText)
				}
			}
		}
		if most != RecentSteps || name == "sources" && heldBefore == 0 {
			t.Errorf("%s: too little happens for the test to show anything: %d steps before, %d of them held back", name, most, heldBefore)
		}
	}
}

// TestBundleAfterResume stops runs before each of their steps, and wants the bundles of those that go on from there to have the bytes of one that
// was not stopped.
func TestBundleAfterResume(t *testing.T) {
	for name, j := range spoiledJobs(t, GuardRewind) {
		open := faults(spoils[name], math.NaN())
		j.Train.Steps = 12
		if _, err := runOn(open, j); err != nil {
			t.Fatal(err)
		}
		want := bundlesOf(t, j)
		if len(want) < 2 {
			t.Fatalf("%s: %d bundles", name, len(want))
		}
		for stop := int64(1); stop < int64(j.Train.Steps); stop++ {
			j.Dir, j.MaxStep = filepath.Join(t.TempDir(), "run"), stop
			if o, err := runOn(open, j); err != nil || o.Step != stop {
				t.Fatal(o, err)
			}
			j.MaxStep = 0
			if _, err := runOn(open, j); err != nil {
				t.Fatal(err)
			}
			if have := bundlesOf(t, j); !maps.Equal(have, want) {
				t.Errorf("%s: stopped after step %d, the bundles are others: %v, wants %v", name, stop, slices.Sorted(maps.Keys(have)), slices.Sorted(maps.Keys(want)))
			}
		}
	}
}

// TestOtherBatchesAreForgotten wants steps before a checkpoint whose batches the text does not give again to be left out, and the run to go on.
func TestOtherBatchesAreForgotten(t *testing.T) {
	j := guarded(t, GuardSkip)
	be := cpu.New(1)
	defer be.Close()
	l := &loop{Job: j, be: be}
	if err := l.prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer l.close()
	for range 6 {
		if err := l.step(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(l.settle(), l.batches.Close()); err != nil {
		t.Fatal(err)
	}
	feed, state := batch.Feed(l.loaders[0]), l.state
	for name, change := range map[string]func(list []Recent){
		"":                           func([]Recent) {},
		"another place of the first": func(list []Recent) { list[0].Cursor.Window++ },
		"another place":              func(list []Recent) { list[2].Cursor.Window++ },
		"another place of all": func(list []Recent) {
			for i := range list {
				list[i].Cursor.Window++
			}
		},
		"another step": func(list []Recent) { list[1].Step++ },
	} {
		l.state = state
		l.state.Recent = slices.Clone(state.Recent)
		change(l.state.Recent)
		want := map[bool]int{true: RecentSteps}[name == ""]
		if err := l.readRecent(feed); err != nil || len(l.state.Recent) != want {
			t.Errorf("%s: %d steps are remembered, %v", name, len(l.state.Recent), err)
		}
	}
	l.state = state
	l.state.Recent = slices.Clone(state.Recent)
	l.state.Recent[0].Cursor.Window = -1
	if err := l.readRecent(feed); err == nil || !strings.Contains(err.Error(), "batches of step 3: ") {
		t.Errorf("a place outside the text: %v", err)
	}
	l.state, l.Train.Guard.Bundles = state, 0
	if err := l.readRecent(feed); err != nil || l.state.Recent != nil {
		t.Errorf("steps are remembered for no bundle: %v, %v", l.state.Recent, err)
	}
}

// TestRingIsPlanned wants a ring to take the memory that is said of it, and the steps to allocate none for it.
func TestRingIsPlanned(t *testing.T) {
	for _, cross := range []bool{true, false} {
		j := guarded(t, GuardStop)
		j.Data.Cross = cross
		be := cpu.New(1)
		defer be.Close()
		l := &loop{Job: j, be: be}
		if err := l.prepare(context.Background()); err != nil {
			t.Fatal(err)
		}
		defer l.close()
		step := func() {
			if err := l.read(); err != nil {
				t.Fatal(err)
			}
			l.advance(l.state.Step+1, Result{1, 2, 1})
		}
		for range RecentSteps + 1 {
			step()
		}
		bytes := 0
		for _, micros := range l.ring.before(RecentSteps) {
			for _, m := range micros {
				bytes += 4 * (cap(m.Inputs) + cap(m.Targets) + cap(m.Docs))
			}
		}
		if want := RecentBytes(int64(j.Train.Batch*j.Train.Accumulate*j.Model.Context), !cross); int64(bytes) != want {
			t.Errorf("a ring of %d bytes, %d were planned", bytes, want)
		}
		if n := testing.AllocsPerRun(20, func() {
			l.micros = l.ring.turn()
			l.remember(l.state.Step, Result{1, 2, 1})
		}); n > 0 {
			t.Errorf("%v allocations a step", n)
		}
	}
}

// TestHeldRemembers wants the steps that a copy of the state names to stay those of its time.
func TestHeldRemembers(t *testing.T) {
	w, s, _ := heldRun(t)
	defer s.Free()
	h, err := newHeld(w, s)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Free()
	list := []Recent{{Step: 1}, {Step: 2}}
	if err := h.hold(State{Step: 2, Recent: list}); err != nil {
		t.Fatal(err)
	}
	push(list, Recent{Step: 3}, 2)
	if got := h.state.Recent; len(got) != 2 || got[0].Step != 1 || got[1].Step != 2 {
		t.Errorf("%+v", got)
	}
}
