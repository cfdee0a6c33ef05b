package train

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// GuardState is what a guard remembers of the steps so far.
type GuardState struct {
	Losses    []float32 `json:"losses,omitempty"` // of the latest steps that were applied, oldest first
	GradNorms []float32 `json:"grad_norms,omitempty"`
	Unapplied int64     `json:"unapplied"` // steps that left no trace in weights and moments: skipped, or gone with a rewind
	Held      []int64   `json:"held,omitempty"`
	Total     int64     `json:"total"`          // steps that were held back, since the run began
	Scale     float64   `json:"scale"`          // of the learning rate, right after the last rewind; 1 = there was none
	RewoundAt int64     `json:"rewound_at"`     // its step
	Good      *Good     `json:"good,omitempty"` // the state to go back to, beside its weights and moments
}

// Good is what a guard remembers of a state that it can go back to.
type Good struct {
	Step      int64     `json:"step"`
	Unapplied int64     `json:"unapplied"`
	Losses    []float32 `json:"losses,omitempty"`
	GradNorms []float32 `json:"grad_norms,omitempty"`
	Rewinds   int       `json:"rewinds,omitempty"` // how often it was gone back to
}

// clone is a copy that shares no memory.
func (g *GuardState) clone() *GuardState {
	if g == nil {
		return nil
	}
	c := *g
	c.Losses, c.GradNorms, c.Held = slices.Clone(g.Losses), slices.Clone(g.GradNorms), slices.Clone(g.Held)
	return &c // Good is never changed, only replaced
}

// check refuses what no run can have written.
func (g *GuardState) check(step int64) error {
	switch {
	case g == nil:
		return nil
	case len(g.Losses) != len(g.GradNorms) || len(g.Losses) > maxWindow || len(g.Held) > maxWindow:
		return errors.New("guard: the window holds another number of losses than of gradient norms, or too many")
	case g.Unapplied < 0 || g.Unapplied > step || !(g.Scale > 0 && g.Scale <= 1) || g.RewoundAt < 0 || g.RewoundAt > step:
		return fmt.Errorf("guard: %d steps unapplied, rate scaled by %g at step %d, of %d steps", g.Unapplied, g.Scale, g.RewoundAt, step)
	case g.Total < 0 || g.Total > g.Unapplied:
		return fmt.Errorf("guard: %d steps held back of %d unapplied", g.Total, g.Unapplied)
	case g.Good != nil && (g.Good.Step < 0 || g.Good.Step > step || g.Good.Unapplied < 0 || g.Good.Unapplied > g.Good.Step || g.Good.Rewinds < 0 || len(g.Good.Losses) != len(g.Good.GradNorms) || len(g.Good.Losses) > maxWindow):
		return fmt.Errorf("guard: the state to go back to is of step %d, with a window of %d losses and %d gradient norms", g.Good.Step, len(g.Good.Losses), len(g.Good.GradNorms))
	}
	return nil
}

// unapplied is how many steps the optimizer does not count.
func (g *GuardState) unapplied() int64 {
	if g == nil {
		return 0
	}
	return g.Unapplied
}

// add counts an applied step of a window.
func (g *GuardState) add(r Result, window int) {
	g.Losses, g.GradNorms = push(g.Losses, float32(r.Loss), window), push(g.GradNorms, float32(r.GradNorm), window)
}

// push appends x and drops what is older than the window. It allocates until the window is full, and then nothing.
func push[E any](list []E, x E, window int) []E {
	if n := len(list) - window + 1; n > 0 {
		copy(list, list[n:])
		list = list[:window-1]
	}
	return append(list, x)
}

// rate is what the learning rate of a step is multiplied by: the scale of the last rewind, rising to 1 in a straight line over a window.
func (g *GuardState) rate(step int64, window int) float64 {
	if g == nil || g.Scale == 1 {
		return 1
	}
	return g.Scale + (1-g.Scale)*min(1, float64(step-g.RewoundAt)/float64(window))
}

// limits are those of the next step. There are none before half of the window is filled.
func (g *GuardState) limits(c Guard) Limits {
	if g == nil || c.Sigma == 0 || len(g.Losses) < (c.Window+1)/2 {
		return NoLimits
	}
	return Limits{Loss: limitOf(g.Losses, c.Sigma, leastLoss), GradNorm: limitOf(g.GradNorms, c.Sigma, leastNorm)}
}

// A standard deviation counts for no less than this share of the mean: where steps are all alike, as those of one batch, anything would be a
// spike else. Gradient norms vary more than losses.
const (
	leastLoss = 0.01
	leastNorm = 0.1
)

// limitOf is the mean and sigma standard deviations more.
func limitOf(list []float32, sigma, least float64) float32 {
	mean, deviation := spread(list)
	return float32(min(mean+sigma*max(deviation, least*math.Abs(mean)), math.MaxFloat32))
}

// spread is the mean and the standard deviation.
func spread(list []float32) (mean, deviation float64) {
	for _, x := range list {
		mean += float64(x)
	}
	mean /= float64(len(list))
	squares := 0.0
	for _, x := range list {
		squares += (float64(x) - mean) * (float64(x) - mean)
	}
	return mean, math.Sqrt(squares / float64(len(list)))
}

// cause says why a step was held back, "" for one that was not.
func (g *GuardState) cause(r Result, l Limits) string {
	above := func(what string, x float64, limit float32, list []float32, least float64) string {
		mean, deviation := spread(list)
		return fmt.Sprintf("the %s is a spike: %.4g, %.1f standard deviations above the mean of %.4g", what, x, (x-mean)/max(deviation, least*math.Abs(mean)), mean)
	}
	switch {
	case r.Applied():
		return ""
	case notFinite(r.Loss):
		return fmt.Sprintf("the loss is %v", r.Loss)
	case notFinite(r.GradNorm):
		return fmt.Sprintf("the gradient norm is %v", r.GradNorm)
	case float32(r.Loss) > l.Loss:
		return above("loss", r.Loss, l.Loss, g.Losses, leastLoss)
	}
	return above("gradient norm", r.GradNorm, l.GradNorm, g.GradNorms, leastNorm)
}

func notFinite(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }

// full says whether one more step held back would be more of them within the window than the limit.
func (g *GuardState) full(step int64, c Guard) bool {
	return len(recent(g.Held, step, c.Window)) >= c.Limit
}

// recent are the steps within a window before a step.
func recent(held []int64, step int64, window int) []int64 {
	return slices.DeleteFunc(slices.Clone(held), func(s int64) bool { return s <= step-int64(window) })
}

// hold counts a step that is held back.
func (g *GuardState) hold(step int64, c Guard) {
	g.Held = append(recent(g.Held, step, max(c.Window, inARow+1)), step)
	g.Total++
}

// skip passes over a step.
func (g *GuardState) skip() { g.Unapplied++ }

// good remembers the present as the state to go back to.
func (g *GuardState) good(step int64) {
	g.Good = &Good{Step: step, Unapplied: g.Unapplied, Losses: slices.Clone(g.Losses), GradNorms: slices.Clone(g.GradNorms)}
}

// rewind goes back to the good state at a step, whose number stays: what was done since, and the step itself, is unapplied. The learning rate
// goes on from its present share of the schedule times the factor.
func (g *GuardState) rewind(step int64, c Guard) {
	g.Scale, g.RewoundAt = g.rate(step, c.Window)*c.Factor, step
	g.Unapplied = step - (g.Good.Step - g.Good.Unapplied)
	g.Losses, g.GradNorms = slices.Clone(g.Good.Losses), slices.Clone(g.Good.GradNorms)
	again := *g.Good // a save at work may hold the one there was
	again.Rewinds++
	g.Good = &again
}
