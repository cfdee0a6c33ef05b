package train

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"prenorm/train/checkpoint"
	"prenorm/train/metrics"
)

// HeldBack is the error of a run that ended because a step was not applied. Steps are deterministic: from the state before it the step comes out
// as it did, whatever learning rate, warm-up or clipping would make of it. What it advises goes past the step, or back before it.
type HeldBack struct {
	What   string // the step, its cause and why the run did not go past it
	State  string // what became of the state before it
	Bundle string // its path, "" for none
	Spoilt string // why that state is no good to go on from, "" where it may be
	Ways   []Way

	// Program and Command say how commands are called: Command is the line that goes on with the run by more arguments. A caller with a command
	// line sets them.
	Program string
	Command func(arguments []string) string
}

// Way is something to do about a step that was not applied.
type Way struct {
	Does      string // "pass over the batch"
	Arguments []string
}

// Error says what happened and what can be done, a line each.
func (h *HeldBack) Error() string {
	lines := []string{h.What, "the update was not applied and the state before it " + h.State}
	if h.Spoilt != "" {
		lines = append(lines, h.Spoilt)
	}
	program, command := h.Program, h.Command
	if program == "" {
		program = "prenorm"
	}
	if command == nil {
		command = func(arguments []string) string { return strings.Join(arguments, " ") }
	}
	if h.Bundle != "" {
		lines = append(lines, "to see the step again: "+program+" replay "+h.Bundle)
	}
	for _, w := range h.Ways {
		lines = append(lines, "to "+w.Does+": "+command(w.Arguments))
	}
	return strings.Join(lines, "\n")
}

// ending is a step that ends a run, as far as it decides what to do.
type ending struct {
	sigma   float64 // that would have had it applied; 0 where it is no spike
	limited bool    // the policy has passed over as many as it may
	spoilt  bool    // the weights are no good to go on from
	older   int64   // the step of a checkpoint to go back to, -1 for none
}

// ways are what can be done about a step that ended a run, and works: nothing that is done already, and nothing that leaves it as it is.
func (c Config) ways(e ending) (list []Way) {
	add := func(does string, arguments ...string) { list = append(list, Way{does, arguments}) }
	set := func(key string, value any) string { return fmt.Sprintf("--set train.%s=%v", key, value) }
	if e.sigma > 0 && e.sigma <= reasonable.High {
		add(fmt.Sprintf("have it applied, and all up to %g standard deviations", e.sigma), set("guard.sigma", e.sigma))
	}
	switch {
	case e.spoilt:
	case e.limited:
		add("pass over more such steps", set("guard.limit", min(2*c.Guard.Limit, maxWindow)))
	case c.Guard.Policy == GuardStop:
		add("pass over its batch, and over that of later ones", set("guard.policy", GuardSkip))
		add(fmt.Sprintf("pass over its batch, and have later ones go back to good weights and to %g of the rate", c.Guard.Factor), set("guard.policy", GuardRewind))
	}
	if e.sigma > 0 {
		return list
	}
	lower := set("optimizer.lr", fmt.Sprintf("%.3g", c.Optimizer.LR/lowerBy))
	if e.older >= 0 {
		add(fmt.Sprintf("go back to step %d and on at a lower rate", e.older), fmt.Sprintf("--from-step %d", e.older), lower)
	}
	add("start anew at a lower rate (the old run is kept)", "--fresh", lower)
	return list
}

// lowerBy is what a learning rate is divided by after weights were spoiled.
const lowerBy = 10

// sane says whether a loss is one of weights worth keeping: no more than twice that of guessing evenly among the ids. A model that knows nothing
// begins at about once that; one that is far above it has been thrown off.
func sane(loss float64, vocab int) bool { return loss <= saneLosses*math.Log(float64(vocab)) }

const saneLosses = 2

// sigmaFor is a sigma with which a step would have been applied, 0 where none would do.
func (g *GuardState) sigmaFor(r Result, l Limits) (sigma float64) {
	if !r.Finite() {
		return 0
	}
	need := func(x float64, limit float32, list []float32, least float64) {
		if float32(x) > limit {
			mean, deviation := spread(list)
			sigma = max(sigma, math.Floor((x-mean)/max(deviation, least*math.Abs(mean)))+1)
		}
	}
	need(r.Loss, l.Loss, g.Losses, leastLoss)
	need(r.GradNorm, l.GradNorm, g.GradNorms, leastNorm)
	return sigma
}

// inARow is how many steps may be held back one after the other whose loss or gradient is not finite: they read other text each, and begin from
// the same weights, as what is held back leaves none.
const inARow = 4

// stuck says that the weights seem to be spoiled: skipped steps all began from them, and rewinds went back to them.
func (g *GuardState) stuck(step int64, c Guard) string {
	if c.Policy == GuardStop {
		return ""
	}
	n := int64(0)
	for i := len(g.Held) - 1; i >= 0 && g.Held[i] == step-1-n; i-- {
		n++
	}
	switch {
	case n < inARow:
		return ""
	case c.Policy == GuardRewind:
		return fmt.Sprintf("the weights of step %d, which the run went back to, seem to be spoiled: %d steps in a row from them failed", g.Good.Step, inARow+1)
	}
	return fmt.Sprintf("the weights seem to be spoiled: %d steps in a row from them failed", inARow+1)
}

// spoiltBy says why the state before a step that was not finite is no good to go on from, "" where that does not show. losses are those measured.
func (l *loop) spoiltBy(r Report, losses map[int64]float64) string {
	if len(r.Spoiled) > 0 {
		return "the weights are spoiled already: they are not finite"
	}
	if loss, ok := losses[l.state.Step]; ok && !sane(loss, l.Model.Vocab) {
		return fmt.Sprintf("the weights are spoiled already: at step %d the loss was %.4g, where guessing has %.4g", l.state.Step, loss, math.Log(float64(l.Model.Vocab)))
	}
	return ""
}

// losses are those of the updates so far, as far as they were measured.
func (l *loop) losses() map[int64]float64 {
	all := map[int64]float64{}
	_ = l.metrics.Sync() // what cannot be written shows elsewhere
	records, _ := metrics.Read(filepath.Join(l.Dir, MetricsFile))
	for _, r := range records {
		if t, ok := r.(metrics.Train); ok {
			all[t.Step] = float64(t.Loss)
		}
	}
	return all
}

// olderThan is the step of the newest whole checkpoint before a step whose weights are worth going back to, -1 where there is none. The loss of a
// checkpoint's weights is that of the step after it.
func (l *loop) olderThan(step int64, losses map[int64]float64) int64 {
	entries, _ := checkpoint.List(checkpoint.OS, checkpointRoot(l.Dir))
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		loss, ok := losses[e.Step+1]
		if !ok {
			loss = losses[e.Step]
		}
		if e.Step >= step || !sane(loss, l.Model.Vocab) {
			continue
		}
		if _, err := checkpoint.Audit(checkpoint.OS, e.Dir); err == nil {
			return e.Step
		}
	}
	return -1
}

// exhausted says why the guard's policy is not followed at a step, "" where it is: too many steps were held back, or they do not cease whatever
// comes after the copy that is gone back to.
func (g *GuardState) exhausted(step int64, c Guard) string {
	switch {
	case c.Policy == GuardStop:
		return ""
	case g.full(step, c):
		return fmt.Sprintf(", after %s held back within %d (train.guard.limit)", inWords(len(recent(g.Held, step, c.Window)), "other step"), c.Window)
	case c.Policy == GuardRewind && g.Good.Rewinds >= c.Limit:
		return fmt.Sprintf(", after %s to the copy of step %d, with no better one since (train.guard.limit)", inWords(g.Good.Rewinds, "rewind"), g.Good.Step)
	}
	return ""
}

// summary says at a run's end what the guard has cost it, "" for nothing.
func (g *GuardState) summary() string {
	if g == nil || g.Total == 0 {
		return ""
	}
	text := fmt.Sprintf("guard: of the run's steps so far, %d held back", g.Total)
	if lost := g.Unapplied - g.Total; lost > 0 {
		text += fmt.Sprintf(" and %s before them lost to rewinds", inWords(int(lost), "update"))
	}
	return text
}
