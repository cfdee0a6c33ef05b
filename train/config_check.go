package train

import (
	"math"

	"prenorm/configs/problem"
	"prenorm/train/optim"
	"prenorm/train/schedule"
)

const (
	maxSteps      = 1 << 30
	maxBatch      = 1 << 16
	maxAccumulate = 1 << 16
	maxTokens     = 1 << 20 // of one sample
	maxWindow     = 1 << 16 // of the guard, whose window is in every checkpoint
	maxBundles    = 1000
	maxBest       = 1000 // checkpoints; each is named in every state
)

var (
	share      = problem.Interval{Low: 0, High: 1}
	belowOne   = problem.Interval{Low: 0, High: 1, OpenHigh: true}
	partOfRun  = problem.Interval{Low: 0, High: 1, OpenLow: true}
	reasonable = problem.Interval{Low: 0, High: 1e6}
)

// Problems returns every rule of the section `train:` that c breaks. Keys are relative to the section.
func (c Config) Problems() problem.List {
	var l problem.List
	l.Whole("steps", c.Steps, 1, maxSteps)
	l.Whole("batch", c.Batch, 1, maxBatch)
	l.Whole("accumulate", c.Accumulate, 1, maxAccumulate)
	c.Optimizer.check(&l)
	c.checkSchedule(&l)
	l.Within("clip", c.Clip, reasonable)
	c.Guard.check(&l)
	l.Whole("eval.every", c.Eval.Every, 0, maxSteps)
	l.Whole("eval.windows", c.Eval.Windows, 0, math.MaxInt32)
	c.Sample.check(&l)
	l.Whole("inspect.every", c.Inspect.Every, 0, maxSteps)
	l.Whole("log.every", c.Log.Every, 0, maxSteps)
	return l
}

func (o Optimizer) check(l *problem.List) {
	l.OneOf("optimizer.kind", o.Kind, optim.Kinds()...)
	l.Within("optimizer.lr", o.LR, problem.Interval{Low: 0, High: 10, OpenLow: true})
	if len(o.Betas) != 2 {
		l.Addf("optimizer.betas", "wants exactly two values, such as [0.9, 0.95], not %d", len(o.Betas))
	}
	for i, beta := range o.Betas {
		if !belowOne.Contains(beta) {
			l.Addf("optimizer.betas", "value %d: %s is out of range (%s)", i+1, problem.Number(beta), belowOne)
		}
	}
	l.Within("optimizer.eps", o.Eps, problem.Interval{Low: 0, High: 1, OpenLow: true})
	l.Within("optimizer.momentum", o.Momentum, belowOne)
	l.Within("optimizer.weight_decay", o.WeightDecay, problem.Interval{Low: 0, High: 10})
}

func (g Guard) check(l *problem.List) {
	l.OneOf("guard.policy", g.Policy, GuardStop, GuardSkip, GuardRewind)
	l.Within("guard.sigma", g.Sigma, reasonable)
	l.Whole("guard.window", g.Window, 2, maxWindow)
	l.Whole("guard.limit", g.Limit, 1, maxWindow)
	l.Within("guard.factor", g.Factor, partOfRun)
	l.Whole("guard.every", g.Every, 1, maxSteps)
	l.Whole("guard.bundles", g.Bundles, 0, maxBundles)
}

func (c Config) checkSchedule(l *problem.List) {
	s := c.Schedule
	l.OneOf("schedule.kind", s.Kind, schedule.Kinds()...)
	l.Within("schedule.min", s.Min, share)
	l.Within("schedule.decay", s.Decay, partOfRun)
	l.Whole("schedule.warmup", s.Warmup, -1, maxSteps)
	if c.Steps < 1 || s.Warmup < 0 {
		return
	}
	if s.Warmup >= c.Steps {
		l.Addf("schedule.warmup", "%d leaves none of %d steps at the full rate (0 to %d, or -1 for a tenth of the steps)", s.Warmup, c.Steps, c.Steps-1)
		return
	}
	if falling := s.Decay * float64(c.Steps); s.Kind == "wsd" && partOfRun.Contains(s.Decay) && float64(s.Warmup)+falling > float64(c.Steps) {
		l.Addf("schedule.decay", "%s of %d steps and warmup %d overlap (decay + warmup/steps is at most 1)",
			problem.Number(s.Decay), c.Steps, s.Warmup)
	}
}

func (s Sample) check(l *problem.List) {
	l.Whole("sample.every", s.Every, 0, maxSteps)
	l.Whole("sample.tokens", s.Tokens, 0, maxTokens)
	l.Within("sample.temperature", s.Temperature, problem.Interval{Low: 0, High: 100})
	l.Whole("sample.top_k", s.TopK, 0, math.MaxInt32)
}

// Problems returns every rule of the section `checkpoint:` that c breaks. Keys are relative to the section.
func (c Checkpoint) Problems() problem.List {
	var l problem.List
	l.Whole("every", c.Every, 0, maxSteps)
	l.Within("minutes", c.Minutes, reasonable)
	l.Whole("keep", c.Keep, 0, math.MaxInt32)
	l.Whole("keep_best", c.KeepBest, 0, maxBest)
	l.Whole("keep_every", c.KeepEvery, 0, maxSteps)
	l.OneOf("background", c.Background, BackgroundAuto, BackgroundAlways, BackgroundNever)
	return l
}
