package configs

import (
	"fmt"
	"slices"
	"strings"

	"prenorm/configs/problem"
	"prenorm/model/block"
	"prenorm/train"
)

// Warnings returns what is allowed and yet probably not meant, in the form of [Problem.String].
func (l *Loaded) Warnings() []string {
	var w problem.List
	long := l.longIntervals()
	if len(long) == 1 {
		w.Addf(long[0].key, "%d is longer than the run of %d steps, so it happens at the end only", long[0].every, l.Run.Train.Steps)
	}
	l.warnUnused(&w)
	if l.Run.Model.Norm.Kind == "batchnorm" {
		w.Addf("model.norm.kind", "batchnorm is for demonstration only: in training its statistics mix positions and sequences, so every row sees what "+
			"comes after it, and losses there are not those of evaluation and sampling, which use running averages")
	}
	l.warnPlacement(&w)
	l.warnTokens(&w)
	if warmup, steps := l.Run.Train.Schedule.Warmup, l.Run.Train.Steps; 2*warmup > steps {
		w.Addf("train.schedule.warmup", "%d is more than half of the run's %d steps", warmup, steps)
	}
	if c := l.Run.Checkpoint; c.Every > 0 && c.KeepEvery%c.Every != 0 {
		w.Addf("checkpoint.keep_every", "%d is no multiple of checkpoint.every (%d): only steps that are a multiple of both are saved for it", c.KeepEvery, c.Every)
	}
	var lines []string
	if len(long) > 1 {
		lines = append(lines, l.foldIntervals(long))
	}
	err, ok := l.Locate(w).(*Error)
	if !ok {
		return lines
	}
	for _, p := range err.Problems {
		lines = append(lines, p.String())
	}
	return lines
}

// interval is a key that gives an interval in steps.
type interval struct {
	key   string
	every int
}

// longIntervals are the intervals that were given and are longer than the run.
func (l *Loaded) longIntervals() []interval {
	t := l.Run.Train
	return slices.DeleteFunc([]interval{
		{"train.eval.every", t.Eval.Every},
		{"train.sample.every", t.Sample.Every},
		{"train.inspect.every", t.Inspect.Every},
		{"train.log.every", t.Log.Every},
		{"checkpoint.every", l.Run.Checkpoint.Every},
	}, func(i interval) bool { return !l.Given(i.key) || i.every <= t.Steps })
}

// foldIntervals says it of several intervals in one line: a preset that is shortened has many of them.
func (l *Loaded) foldIntervals(long []interval) string {
	words := make([]string, len(long))
	for i, v := range long {
		words[i] = fmt.Sprintf("%s (%d)", v.key, v.every)
	}
	last := len(words) - 1
	return fmt.Sprintf("%s: %s and %s are longer than the run of %d steps, so these happen at the end only",
		l.file, strings.Join(words[:last], ", "), words[last], l.Run.Train.Steps)
}

// warnPlacement names what goes against the norm placement: another initialisation than its own, and no warm-up where it is known to fail
// without one.
func (l *Loaded) warnPlacement(w *problem.List) {
	m := l.Run.Model
	p, ok := block.Lookup(m.Norm.Placement)
	if !ok {
		return
	}
	// A normal distribution of a fixed width is one way to have the placement's, where that is a plain normal one.
	if kind := m.Init.Kind; kind != "auto" && kind != p.Base && !(kind == "gpt2" && p.Base == "fan_in") {
		w.Addf("model.init.kind", "%s, and placement %s was made for %s (--set model.init.kind=auto follows the placement)", kind, p.Name, p.Base)
	}
	if writers := m.Init.Residual; writers != "auto" && writers != p.Writers {
		w.Addf("model.init.residual", "%s, and placement %s was made for %s (--set model.init.residual=auto follows the placement)", writers, p.Name, p.Writers)
	}
	if p.Warmup && l.Run.Train.Schedule.Warmup == 0 {
		w.Addf("train.schedule.warmup", "0, and placement %s is known to stay at the unigram loss without a warm-up (-1 takes a usual one)", p.Name)
	}
}

// warnUnused names keys that were given a value of their own and that the chosen kinds do not read.
func (l *Loaded) warnUnused(w *problem.List) {
	r := l.Run
	unused := []struct {
		key  string
		when bool
		why  string
	}{
		{"data.val.fraction", len(r.Data.Val.Files) > 0, "data.val.files"},
		{"data.val.by", len(r.Data.Val.Files) > 0, "data.val.files"},
		{"data.tokenizer.vocab", r.Data.Tokenizer.Kind != "bpe" || r.Data.Tokenizer.File != "", fixedVocab(r.Data.Tokenizer.Kind, r.Data.Tokenizer.File)},
		{"data.tokenizer.unknown", r.Data.Tokenizer.Kind != "char", "tokenizer kind " + r.Data.Tokenizer.Kind},
		{"kernels.matmul", r.Device == "cpu", "device cpu"},
		{"model.position.theta", r.Model.Position.Kind != "rope", "position kind " + r.Model.Position.Kind},
		{"model.norm.alpha", r.Model.Norm.Kind != "dyt", "norm kind " + r.Model.Norm.Kind},
		{"model.norm.eps", r.Model.Norm.Kind == "dyt", "norm kind dyt"},
		{"model.init.std", r.Model.Init.Kind != "gpt2", "init kind " + r.Model.Init.Kind},
		{"train.optimizer.betas", r.Train.Optimizer.Kind != "adamw", "optimizer kind " + r.Train.Optimizer.Kind},
		{"train.optimizer.eps", r.Train.Optimizer.Kind != "adamw", "optimizer kind " + r.Train.Optimizer.Kind},
		{"train.optimizer.momentum", r.Train.Optimizer.Kind != "sgd", "optimizer kind " + r.Train.Optimizer.Kind},
		{"train.schedule.decay", r.Train.Schedule.Kind != "wsd", "schedule kind " + r.Train.Schedule.Kind},
		{"model.norm.momentum", r.Model.Norm.Kind != "batchnorm", "norm kind " + r.Model.Norm.Kind},
		{"train.guard.factor", r.Train.Guard.Policy != train.GuardRewind, "guard policy " + r.Train.Guard.Policy},
		{"train.guard.every", r.Train.Guard.Policy != train.GuardRewind, "guard policy " + r.Train.Guard.Policy},
		{"train.guard.limit", r.Train.Guard.Policy == train.GuardStop, "guard policy stop"},
		{"checkpoint.keep_best", r.Checkpoint.Keep == 0, "checkpoint.keep 0: all are kept"},
		{"checkpoint.keep_every", r.Checkpoint.Keep == 0, "checkpoint.keep 0: all are kept"},
		{"train.schedule.min", r.Train.Schedule.Kind == "constant", "schedule kind constant"},
	}
	changed := map[string]bool{}
	for _, c := range Diff(Default(), r) {
		changed[c.Key] = true
	}
	for _, u := range unused {
		if _, given := l.places[u.key]; given && u.when && changed[u.key] {
			w.Addf(u.key, "is not used with %s", u.why)
		}
	}
}

// fixedVocab says what settles a vocabulary in place of data.tokenizer.vocab, and what to change.
func fixedVocab(kind, file string) string {
	if file != "" {
		return "data.tokenizer.file, whose ids are the file's: leave one of the two out"
	}
	return fmt.Sprintf("data.tokenizer.kind %s, which is not trained to a size: leave it out, or set data.tokenizer.kind to bpe", kind)
}
