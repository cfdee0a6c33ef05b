package train

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/train/checkpoint"
	"prenorm/train/metrics"
)

// TestBestIsKept trains with a validation at every step, and wants the checkpoints of the least losses to be there at the end, besides the
// newest and those of every fifth step.
func TestBestIsKept(t *testing.T) {
	j := tinyJob(t)
	j.Train.Eval.Every, j.Train.Sample.Every = 1, 0
	j.Train.Optimizer.LR, j.Train.Schedule.Kind = 0.05, "constant" // goes up and down
	j.Checkpoint = Checkpoint{Every: 5, Keep: 1, KeepBest: 2, KeepEvery: 5, Background: BackgroundAlways}
	if _, err := finish(t, j); err != nil {
		t.Fatal(err)
	}
	records, err := metrics.Read(filepath.Join(j.Dir, MetricsFile))
	if err != nil {
		t.Fatal(err)
	}
	var best []Scored
	for _, r := range records {
		if e, ok := r.(metrics.Eval); ok {
			best = j.Checkpoint.Best(best, e.Step, float64(e.Loss))
		}
	}
	want := map[int64]bool{5: true, 10: true, 13: true}
	for _, b := range best {
		want[b.Step] = true
	}
	if len(best) != 2 || len(want) < 4 {
		t.Fatalf("the best are %v: the test shows nothing", best)
	}
	entries, err := checkpoint.List(checkpoint.OS, checkpointRoot(j.Dir))
	if err != nil || len(entries) != len(want) {
		t.Errorf("left %v, want %v, %v", entries, want, err)
	}
	for _, e := range entries {
		if !want[e.Step] {
			t.Errorf("step %d is left, want %v", e.Step, want)
		}
	}
}

func TestBestList(t *testing.T) {
	c := Checkpoint{KeepBest: 2}
	var list []Scored
	for i, step := range []struct {
		loss float64
		want string
	}{{3, "[{1 3}]"}, {math.NaN(), "[{1 3}]"}, {2, "[{3 2} {1 3}]"}, {4, "[{3 2} {1 3}]"}, {2, "[{3 2} {5 2}]"}, {math.Inf(-1), "[{3 2} {5 2}]"}, {1, "[{7 1} {3 2}]"}} {
		before := fmt.Sprint(list)
		next := c.Best(list, int64(i+1), step.loss)
		if fmt.Sprint(next) != step.want || fmt.Sprint(list) != before {
			t.Errorf("loss %v: %v, want %s; before it %v, was %s", step.loss, next, step.want, list, before)
		}
		list = next
	}
	if again := c.Best(list, 3, 2); fmt.Sprint(again) != fmt.Sprint(list) {
		t.Errorf("the same validation again: %v", again)
	}
}

// TestBestThatIsGone removes the folder of the best checkpoint behind a run's back: the run goes on, and the next best is kept in its place. The
// state does not forget it.
func TestBestThatIsGone(t *testing.T) {
	j := tinyJob(t)
	if err := os.MkdirAll(j.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, step := range []int64{7, 9} {
		if _, err := checkpoint.Save(checkpoint.OS, checkpointRoot(j.Dir), checkpoint.Snapshot{Step: step}); err != nil {
			t.Fatal(err)
		}
	}
	w, _, err := metrics.Open(filepath.Join(j.Dir, MetricsFile), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for step, loss := range []metrics.Float{4: 1, 5: 3, 7: 3, 9: 2} {
		if loss > 0 {
			if err := w.Write(metrics.Eval{Step: int64(step), Loss: loss}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		keep        int
		state       State
		best, there string
	}{
		{2, State{Step: 12, Best: []Scored{{4, 1}, {9, 2}}}, "[{4 1} {9 2}]", "[{9 2} {7 3}]"},
		{2, State{Step: 8, Best: []Scored{{4, 1}, {7, 3}}}, "[{4 1} {7 3}]", "[{7 3}]"},
		{1, State{Step: 12, Best: []Scored{{9, 2}, {4, 1}}}, "[{9 2}]", "[{9 2}]"},
		{0, State{Step: 12, Best: []Scored{{4, 1}, {9, 2}}}, "[]", "[]"},
	} {
		l := &loop{Job: j, state: c.state, metrics: w}
		l.Checkpoint.KeepBest = c.keep
		if err := l.openBest(); err != nil || fmt.Sprint(l.state.Best) != c.best || fmt.Sprint(l.there) != c.there {
			t.Errorf("keep %d, step %d: the best are %v, those there %v, %v; want %s, %s", c.keep, c.state.Step, l.state.Best, l.there, err, c.best, c.there)
		}
	}
}

// TestBestAfterDamage damages a run's newest checkpoint, which was the best, for which the best before it was removed: gone on with from before
// it, the run ends with the state, and the checkpoints, of one that nothing happened to.
func TestBestAfterDamage(t *testing.T) {
	run := func(j Job) {
		t.Helper()
		if out, err := finish(t, j); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	all := func(j Job) map[string]string {
		states := map[string]string{}
		entries, err := checkpoint.List(checkpoint.OS, checkpointRoot(j.Dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(e.Dir, StateFile))
			if err != nil {
				t.Fatal(err)
			}
			states[filepath.Base(e.Dir)] = string(text)
		}
		return states
	}
	job := func() Job {
		j := tinyJob(t)
		j.Train.Eval.Every, j.Train.Sample.Every, j.Train.Schedule.Kind = 2, 0, "constant"
		j.Checkpoint = Checkpoint{Every: 5, Keep: 1, KeepBest: 1, KeepEvery: 5, Background: BackgroundNever}
		return j
	}
	whole, hurt := job(), job()
	whole.MaxStep, hurt.MaxStep = 6, 6
	run(whole)
	run(hurt)
	states := all(hurt)
	if _, gone := states["step-00000004"]; gone || len(states) != 2 || !strings.Contains(states["step-00000005"], `"best":[{"step":4,`) {
		t.Fatalf("the best before step 6 is not gone, or not known at step 5: the test shows nothing: %v", states)
	}
	if err := os.Truncate(filepath.Join(checkpointRoot(hurt.Dir), "step-00000006", StateFile), 1); err != nil {
		t.Fatal(err)
	}
	for _, until := range []int64{6, 0} {
		whole.MaxStep, hurt.MaxStep = until, until
		run(whole)
		run(hurt)
		if a, b := all(whole), all(hurt); !maps.Equal(a, b) {
			t.Errorf("until %d: whole\n%v\nhurt\n%v", until, a, b)
		}
	}
}
