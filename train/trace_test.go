package train

import (
	"context"
	"slices"
	"strings"
	"testing"

	"prenorm/data/batch"
	"prenorm/kernels/ref"
	"prenorm/model/exec"
	"prenorm/train/profile"
)

// stepOrInspect does a step, inspected where its number is even.
func stepOrInspect(t *testing.T, s *Stepper, number int64, micros []*batch.Batch) (r Result) {
	t.Helper()
	var err error
	if number%2 == 0 {
		r, _, err = s.Inspect(context.Background(), number, 1e-3, micros)
	} else {
		r, err = s.Step(context.Background(), number, 1e-3, micros)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTracedSteps wants plain and inspected steps that are traced to compute what they compute otherwise, and launches and copies of every kind
// to be seen.
func TestTracedSteps(t *testing.T) {
	o := options(2, 2)
	o.Inspect = true
	plain, traced := stepper(t, ref.New(), normed("batchnorm"), o), stepper(t, ref.New(), normed("batchnorm"), o)
	micros := split(testBatches(4, func(int) bool { return false }), 2)
	var seen []string
	traced.Trace(func(step exec.StepInfo, run func() error) error {
		seen = append(seen, step.Kernel+" "+step.Path)
		return run()
	})
	for number := int64(1); number <= 4; number++ {
		seen = nil
		a, b := stepOrInspect(t, plain, number, micros), stepOrInspect(t, traced, number, micros)
		if a != b || !slices.EqualFunc(plain.state(), traced.state(), equalBits) {
			t.Errorf("step %d differs when traced: %+v, %+v", number, a, b)
		}
		want := map[string]int{"scale buffers.keep": 1, "scale buffers.restore": 0, "adamw": 2, "add loss.sum": 2, "fill": 2, "moments": 0, "scale inspect.before": 0,
			profile.Upload + " normaliser": 1, profile.Upload + " hyper": 1, profile.Download: 3}
		if in := traced.inspector; number%2 == 0 {
			want["moments"], want["scale inspect.before"] = len(in.seen)+2*in.matrices(), 1
			want[profile.Upload+" normaliser"] = 2 // one for each of the two programs
			want[profile.Download] += len(in.seen) + 1
		}
		for prefix, n := range want {
			got := 0
			for _, s := range seen {
				if strings.HasPrefix(s, prefix) {
					got++
				}
			}
			if got != n {
				t.Errorf("step %d: %d of %q, wants %d of %q", number, got, prefix, n, seen)
			}
		}
	}
}
