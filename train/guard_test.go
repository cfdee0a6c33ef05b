package train

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"prenorm/data/batch"
	"prenorm/kernels/ref"
)

// feed is a guard's state after steps with these losses and norms.
func feed(c Guard, losses ...float64) *GuardState {
	g := &GuardState{Scale: 1}
	for _, x := range losses {
		g.add(Result{Loss: x, GradNorm: x / 2, Clip: 1}, c.Window)
	}
	return g
}

// TestGuardLimits holds the limits against figures worked out by hand: the window's mean plus sigma deviations, at least a share of the mean
// for one, and none before half of the window is filled.
func TestGuardLimits(t *testing.T) {
	c := Guard{Sigma: 3, Window: 4}
	for _, test := range []struct {
		losses         []float64
		loss, gradNorm float64
	}{
		{[]float64{1}, math.MaxFloat32, math.MaxFloat32},
		{[]float64{1, 3}, 2 + 3*1, 1 + 3*0.5},
		{[]float64{99, 98, 1, 3, 1, 3}, 5, 2.5}, // the oldest two are out of the window
		{[]float64{99, 1, 3, 1, 3}, 5, 2.5},
		{[]float64{2, 2, 2, 2}, 2 + 3*0.02, 1 + 3*0.1},   // all alike: 1 % of the mean loss, 10 % of the mean norm
		{[]float64{0, 0, 0}, 0, 0},                       // as of batches without targets
		{[]float64{1e38, 3e38}, math.MaxFloat32, 2.5e38}, // no more than there are numbers
	} {
		got := feed(c, test.losses...).limits(c)
		near := func(a float32, b float64) bool { return math.Abs(float64(a)-b) <= 1e-6*b }
		if !near(got.Loss, test.loss) || !near(got.GradNorm, test.gradNorm) {
			t.Errorf("%v: %v, wants %v and %v", test.losses, got, test.loss, test.gradNorm)
		}
	}
	if l := feed(Guard{Window: 4}, 1, 2, 3, 4).limits(Guard{Window: 4}); l != NoLimits {
		t.Errorf("without sigma the limits are %v", l)
	}
}

// TestGuardCause wants a step that is held back to be explained.
func TestGuardCause(t *testing.T) {
	c := Guard{Sigma: 3, Window: 4}
	g := feed(c, 1, 3, 1, 3)
	l := g.limits(c)
	nan, inf := math.NaN(), math.Inf(1)
	for _, test := range []struct {
		r    Result
		want string
	}{
		{Result{2, 1, 1}, ""},
		{Result{nan, nan, nan}, "the loss is NaN"},
		{Result{2, inf, nan}, "the gradient norm is +Inf"},
		{Result{6, 1, nan}, "the loss is a spike: 6, 4.0 standard deviations above the mean of 2"},
		{Result{2, 3.5, nan}, "the gradient norm is a spike: 3.5, 5.0 standard deviations above the mean of 1"},
	} {
		if got := g.cause(test.r, l); got != test.want {
			t.Errorf("%+v: %q, wants %q", test.r, got, test.want)
		}
	}
}

// TestGuardRewinds holds what a rewind counts and how the rate comes back against figures worked out by hand.
func TestGuardRewinds(t *testing.T) {
	c := Guard{Window: 10, Factor: 0.5, Limit: 2}
	g := feed(c, 1, 2)
	g.skip() // step 3
	g.good(4)
	g.add(Result{Loss: 9, GradNorm: 9}, c.Window)
	g.rewind(7, c)
	if g.Unapplied != 4 || !slices.Equal(g.Losses, []float32{1, 2}) { // 3, 5, 6 and 7
		t.Errorf("after the rewind %+v", g)
	}
	for step, want := range map[int64]float64{7: 0.5, 8: 0.55, 12: 0.75, 17: 1, 40: 1} {
		if got := g.rate(step, c.Window); math.Abs(got-want) > 1e-12 {
			t.Errorf("rate of step %d: %v, wants %v", step, got, want)
		}
	}
	g.rewind(12, c)
	if g.Scale != 0.375 || g.Unapplied != 12-3 {
		t.Errorf("after the second rewind %+v", g)
	}
	h := &GuardState{}
	for _, step := range []int64{1, 7, 8} {
		h.hold(step, c)
	}
	for step, full := range map[int64]bool{9: true, 16: true, 17: false} {
		if h.full(step, c) != full {
			t.Errorf("step %d: full %v, wants %v", step, !full, full)
		}
	}
}

// TestGuardStateIsChecked wants a state that no run writes to be refused.
func TestGuardStateIsChecked(t *testing.T) {
	for _, g := range []GuardState{
		{}, {Scale: 2}, {Scale: math.NaN()}, {Scale: 1, Unapplied: 11}, {Scale: 1, Unapplied: -1}, {Scale: 1, Unapplied: 1, Total: 2}, {Scale: 1, Total: -1}, {Scale: 1, Good: &Good{Rewinds: -1}}, {Scale: 1, RewoundAt: 11}, {Scale: 1, Losses: []float32{1}},
		{Scale: 1, Good: &Good{Step: 11}}, {Scale: 1, Good: &Good{Step: 1, Unapplied: 2}}, {Scale: 1, Held: make([]int64, maxWindow+1)},
		{Scale: 1, Good: &Good{Losses: make([]float32, maxWindow+1), GradNorms: make([]float32, maxWindow+1)}}, {Scale: 1, Good: &Good{Losses: []float32{1}}},
	} {
		if err := g.check(10); err == nil || !strings.Contains(err.Error(), "guard: ") {
			t.Errorf("%+v: %v", g, err)
		}
	}
	if err := (&GuardState{Scale: 0.5, RewoundAt: 10, Unapplied: 10, Good: &Good{Step: 10}}).check(10); err != nil {
		t.Error(err)
	}
}

// TestGuardAllocatesNothing guards the hot path.
func TestGuardAllocatesNothing(t *testing.T) {
	c := Guard{Sigma: 6, Window: 8}
	s := stepper(t, ref.New(), small(), options(2, 1))
	micros := []*batch.Batch{testBatches(2, func(int) bool { return false })}
	g := feed(c, 100, 200, 300, 100, 200, 300, 100, 200)
	ctx, number := context.Background(), int64(0)
	n := testing.AllocsPerRun(10, func() {
		number++
		l := g.limits(c)
		s.Limit(l, g.unapplied())
		r, err := s.Step(ctx, number, 1e-3*g.rate(number, c.Window), micros)
		if err != nil || g.cause(r, l) != "" {
			t.Fatal(fmt.Sprint(r, err))
		}
		g.add(r, c.Window)
	})
	if n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}
