package train

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestAdvice wants what goes past a step or back before it, and nothing that leaves the step as it is or is done already.
func TestAdvice(t *testing.T) {
	const skip, rewind, fresh = "--set train.guard.policy=skip", "--set train.guard.policy=rewind", "--fresh --set train.optimizer.lr=0.2"
	for _, test := range []struct {
		policy string
		ending
		want []string
	}{
		{GuardStop, ending{sigma: 9, older: -1}, []string{"--set train.guard.sigma=9", skip, rewind}},
		{GuardStop, ending{sigma: math.Inf(1), older: -1}, []string{skip, rewind}},
		{GuardSkip, ending{sigma: 9, limited: true, older: 3}, []string{"--set train.guard.sigma=9", "--set train.guard.limit=8"}},
		{GuardStop, ending{older: -1}, []string{skip, rewind, fresh}},
		{GuardStop, ending{older: 3}, []string{skip, rewind, "--from-step 3 --set train.optimizer.lr=0.2", fresh}},
		{GuardStop, ending{spoilt: true, older: -1}, []string{fresh}},
		{GuardRewind, ending{spoilt: true, limited: true, older: 3}, []string{"--from-step 3 --set train.optimizer.lr=0.2", fresh}},
		{GuardRewind, ending{limited: true, older: -1}, []string{"--set train.guard.limit=8", fresh}},
	} {
		c := Config{Optimizer: Optimizer{LR: 2}, Guard: Guard{Policy: test.policy, Sigma: 6, Limit: 4}}
		var got []string
		for _, w := range c.ways(test.ending) {
			got = append(got, strings.Join(w.Arguments, " "))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s, %+v: %q, wants %q", test.policy, test.ending, got, test.want)
		}
	}
}

// TestSigmaFor holds the sigma that is advised against figures worked out by hand: the step is applied with it.
func TestSigmaFor(t *testing.T) {
	c := Guard{Sigma: 3, Window: 4}
	g := feed(c, 1, 3, 1, 3) // mean 2 and deviation 1 of losses, 1 and 0.5 of norms
	l := g.limits(c)
	for _, test := range []struct {
		r    Result
		want float64
	}{
		{Result{2, 1, 1}, 0}, {Result{math.NaN(), 1, 1}, 0}, {Result{2, math.Inf(1), 1}, 0},
		{Result{6.5, 1, 1}, 5}, {Result{6, 1, 1}, 5}, {Result{2, 4.2, 1}, 7}, {Result{9.5, 3.5, 1}, 8},
	} {
		got := g.sigmaFor(test.r, l)
		c.Sigma = got
		if above := g.cause(Result{test.r.Loss, test.r.GradNorm, math.NaN()}, g.limits(c)); got != test.want || got > 0 && (float32(test.r.Loss) > g.limits(c).Loss || float32(test.r.GradNorm) > g.limits(c).GradNorm) {
			t.Errorf("%+v: %v, wants %v; %s", test.r, got, test.want, above)
		}
	}
}

// TestSpoiltCopy wants a run whose weights make every step fail to end soon, whatever its limit, and to say so with what helps.
func TestSpoiltCopy(t *testing.T) {
	for policy, want := range map[string]string{
		GuardSkip:   "the weights seem to be spoiled: 5 steps in a row from them failed",
		GuardRewind: "the weights of step 0, which the run went back to, seem to be spoiled: 5 steps in a row from them failed",
	} {
		j := guarded(t, policy)
		j.Train.Guard.Limit, j.Train.Guard.Window = 100, 2
		_, err := runOn(faults(1, math.NaN()), j) // every batch
		held, _ := events(t, j)
		if err == nil || len(held) != inARow+1 || held[inARow].Action != GuardStop || !strings.Contains(err.Error(), "\n"+want+"\n") ||
			!strings.HasSuffix(err.Error(), "\nto start anew at a lower rate (the old run is kept): --fresh --set train.optimizer.lr="+fmt.Sprintf("%.3g", j.Train.Optimizer.LR/lowerBy)) ||
			strings.Contains(err.Error(), "train.guard") {
			t.Errorf("%s: %d steps held back: %v", policy, len(held), err)
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
		!strings.Contains(err.Error(), "\nto pass over more such steps: --set train.guard.limit=2\n") {
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
