package train

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
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

// TestBestThatIsGone removes the folder of the best checkpoint behind a run's back: the run goes on, and the next best is kept in its place.
func TestBestThatIsGone(t *testing.T) {
	j := tinyJob(t)
	l := &loop{Job: j, state: State{Best: []Scored{{4, 1}, {9, 2}}}}
	l.Checkpoint.KeepBest = 2
	if err := os.MkdirAll(j.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Save(checkpoint.OS, checkpointRoot(j.Dir), checkpoint.Snapshot{Step: 9}); err != nil {
		t.Fatal(err)
	}
	if err := l.dropMissing(); err != nil || fmt.Sprint(l.state.Best) != "[{9 2}]" {
		t.Errorf("the best are %v, %v", l.state.Best, err)
	}
	l.Checkpoint.KeepBest = 0
	if err := l.dropMissing(); err != nil || l.state.Best != nil {
		t.Errorf("none is wanted: %v, %v", l.state.Best, err)
	}
}
