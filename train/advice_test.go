package train

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestAdvice wants no advice that is followed already.
func TestAdvice(t *testing.T) {
	const first, last = "Lower train.optimizer.lr, lengthen train.schedule.warmup, ", ", then go on with the changed key given by --set"
	for _, test := range []struct {
		policy         string
		clip           float64
		spike, limited bool
		want           string
	}{
		{GuardStop, 0, false, false, "set train.clip, or have such steps passed over by train.guard.policy=skip or rewind"},
		{GuardStop, 1, true, false, "raise train.guard.sigma (6), or have such steps passed over by train.guard.policy=skip or rewind"},
		{GuardSkip, 1, true, true, "raise train.guard.sigma (6), or raise train.guard.limit (4)"},
		{GuardRewind, 1, false, true, "or raise train.guard.limit (4)"},
	} {
		c := Config{Clip: test.clip, Guard: Guard{Policy: test.policy, Sigma: 6, Limit: 4}}
		if got := c.advice(test.spike, test.limited); got != first+test.want+last {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

// TestSameCopyAgain wants a run to stop that goes back to the same copy more often than it may, however far apart, and its end to say what that
// has cost.
func TestSameCopyAgain(t *testing.T) {
	j := guarded(t, GuardRewind)
	j.Train.Guard.Window, j.Train.Guard.Limit, j.Train.Guard.Every, j.Train.Guard.Sigma = 1, 1, 1000, 0
	_, err := runOn(faults(13, math.NaN()), j)
	held, _ := events(t, j)
	if err == nil || len(held) != 2 || !strings.Contains(err.Error(), "after 1 rewind to the copy of step 0, with no better one since (train.guard.limit)") ||
		!strings.Contains(err.Error(), "raise train.guard.limit (1)") {
		t.Fatalf("%v\n%+v", err, held)
	}
	if want := fmt.Sprintf("guard: of the run's steps so far, 1 held back and %d updates before them lost to rewinds\n", held[0].Attempt-1); !strings.Contains(fmt.Sprint(j.Out), want) {
		t.Errorf("%q is not in\n%s", want, j.Out)
	}
}

// TestSummary counts over a run that is gone on with.
func TestSummary(t *testing.T) {
	c := Guard{Window: 4, Factor: 0.5, Limit: 2}
	var none *GuardState
	g := feed(c, 1)
	if none.summary() != "" || g.summary() != "" {
		t.Error("nothing was held back")
	}
	g.hold(2, c)
	g.skip()
	g.good(3)
	g.hold(9, c)
	g.rewind(9, c)
	if got := g.summary(); got != "guard: of the run's steps so far, 2 held back and 5 updates before them lost to rewinds" { // 4 to 8
		t.Error(got)
	}
	if g.Good.Rewinds != 1 || g.clone().Total != 2 {
		t.Errorf("%+v", g)
	}
}
