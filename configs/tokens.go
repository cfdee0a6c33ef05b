package configs

import (
	"fmt"
	"math"

	"prenorm/configs/problem"
)

// farTokens is how many times more or fewer tokens a step has than its learning rate was chosen for before a warning says so. The case that
// it is taken from is a batch cut from 12 sequences to 3 with the rate of a preset, whose loss stood still.
const farTokens = 4

// tokensPerStep is what a step of the run reads.
func tokensPerStep(r Run) float64 {
	return float64(r.Train.Batch) * float64(r.Train.Accumulate) * float64(r.Model.Context)
}

// rateOf is where a learning rate was chosen: what it is, and for how many tokens a step.
type rateOf struct {
	name   string
	tokens float64
}

// warnTokens names a learning rate that was chosen for steps of another size, by two rules: the run file was written for the size that it
// gives itself, so that --set of a size without train.optimizer.lr leaves it; and a run with the model, the optimizer and the rate of a preset
// has that preset's. A rate that nobody else chose is not looked at.
func (l *Loaded) warnTokens(w *problem.List) {
	chosen, ok := l.chosen()
	now := tokensPerStep(l.Run)
	if !ok || !(chosen.tokens > 0) || !(now > 0) || max(now/chosen.tokens, chosen.tokens/now) < farTokens {
		return
	}
	key := "train.batch"
	for _, k := range []string{"train.accumulate", "model.context"} { // the one that --set gave, where one did
		if l.places[k].set != "" && l.places[key].set == "" {
			key = k
		}
	}
	rate, rule := l.Run.Train.Optimizer.LR*math.Sqrt(now/chosen.tokens), "by its square root, as for adamw: Malladi et al. 2022"
	if l.Run.Train.Optimizer.Kind == "sgd" {
		rate, rule = l.Run.Train.Optimizer.LR*now/chosen.tokens, "in proportion, as for sgd: Goyal et al. 2017"
	}
	remedy := ""
	if n := chosen.tokens / float64(l.Run.Train.Batch) / float64(l.Run.Model.Context); n == math.Trunc(n) && n >= 1 && n != float64(l.Run.Train.Accumulate) { // a fraction keeps no size
		remedy = fmt.Sprintf("--set train.accumulate=%.0f keeps the size of a step, or ", n)
	}
	w.Addf(key, "a step has %.0f tokens, and train.optimizer.lr %s was chosen for %.0f by %s (%s--set train.optimizer.lr=%.2g follows the size %s)",
		now, problem.Number(l.Run.Train.Optimizer.LR), chosen.tokens, chosen.name, remedy, rate, rule)
}

// chosen finds who chose the rate, and for which size.
func (l *Loaded) chosen() (rateOf, bool) {
	if l.places["train.optimizer.lr"].set != "" { // by itself or within a section
		return rateOf{}, false
	}
	if tokensPerStep(l.written) != tokensPerStep(l.Run) {
		return rateOf{l.file, tokensPerStep(l.written)}, true
	}
	for _, name := range Presets() {
		src, _ := Preset(name)
		p, err := Parse(name+".yaml", src, nil)
		if err != nil {
			continue
		}
		a, b := p.Run.Train.Optimizer, l.Run.Train.Optimizer
		if m, n := p.Run.Model, l.Run.Model; a.Kind == b.Kind && a.LR == b.LR && m.Layers == n.Layers && m.Width == n.Width && m.Heads == n.Heads && m.Norm.Placement == n.Norm.Placement {
			return rateOf{"preset " + name, tokensPerStep(p.Run)}, true
		}
	}
	return rateOf{}, false
}
