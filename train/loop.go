package train

import (
	"context"
	"errors"
	"fmt"
	"time"

	"prenorm/data/batch"
	"prenorm/train/metrics"
)

// step does one update and, at their intervals, saves, evaluates and samples. It saves first: what follows must not cost the work before it.
func (l *loop) step(ctx context.Context) error {
	if err := l.lookBack(); err != nil {
		return err
	}
	step := l.state.Step + 1
	if err := l.read(); err != nil {
		return err
	}
	lr := l.rate(step) * l.state.Guard.rate(step, l.Train.Guard.Window) * l.Train.Optimizer.LR
	limits := l.limit()
	end := l.span("step")
	r, seen, err := l.update(ctx, step, lr)
	end()
	if err != nil {
		return err
	}
	if r.Applied() {
		err = l.applied(step, lr, r, seen)
	} else {
		err = l.heldBack(ctx, attempted{step, lr, limits, r})
	}
	if err != nil {
		return err
	}
	if l.due(l.Checkpoint.Every, step) || l.late() {
		if err := l.save(); err != nil {
			return err
		}
	}
	return l.observe(ctx, step)
}

// applied counts and records an update.
func (l *loop) applied(step int64, lr float64, r Result, seen *metrics.Inspect) error {
	l.count(r)
	l.advance(step, r)
	l.state.Tokens += int64(targets(l.micros))
	err := l.report(step, lr, r)
	if seen != nil {
		err = errors.Join(err, l.metrics.Write(*seen))
	}
	return err
}

// advance goes past a step and its batch.
func (l *loop) advance(step int64, r Result) {
	l.remember(step, r)
	l.state.Step = step
	l.state.Cursor = l.batches.Cursor()
}

// update runs one update, and looks at it where its number asks for that: at the first, the last, and the interval.
func (l *loop) update(ctx context.Context, step int64, lr float64) (Result, *metrics.Inspect, error) {
	every := l.Train.Inspect.Every
	if every == 0 || step != 1 && !l.due(every, step) {
		r, err := l.stepper.Step(ctx, step, lr, l.micros)
		return r, nil, err
	}
	r, seen, err := l.stepper.Inspect(ctx, step, lr, l.micros)
	return r, &seen, err
}

// read takes the next batches.
func (l *loop) read() error {
	defer l.span("data")()
	return l.take(l.batches)
}

// take makes the next batches of a feed those of the step at work.
func (l *loop) take(feed batch.Feed) error {
	l.micros = l.ring.turn()
	for _, m := range l.micros {
		if err := feed.Next(m); err != nil {
			return err
		}
	}
	return nil
}

// due says whether something of an interval falls on a step; everything falls on the last.
func (l *loop) due(every int, step int64) bool {
	return step == int64(l.Train.Steps) || every > 0 && step%int64(every) == 0
}

// observe evaluates and samples where the step's number asks for it.
func (l *loop) observe(ctx context.Context, step int64) error {
	defer func() { l.lap = time.Now() }() // not part of the training speed
	if l.due(l.Train.Eval.Every, step) {
		if err := l.evaluate(ctx, step); err != nil {
			return err
		}
	}
	if l.due(l.Train.Sample.Every, step) {
		return l.sample(ctx, step)
	}
	return nil
}

// catchUp evaluates and samples for the step of the checkpoint, where the run was stopped between saving and that.
func (l *loop) catchUp(ctx context.Context) error {
	step := l.state.Step
	if step == 0 || l.saved < 0 {
		return nil
	}
	if l.due(l.Train.Eval.Every, step) {
		if err := l.catchUpEval(ctx, step); err != nil {
			return err
		}
	}
	if l.due(l.Train.Sample.Every, step) && !l.recorded(metrics.KindSample, step) {
		l.beginAgain("sample", step)
		return l.sample(ctx, step)
	}
	return nil
}

// catchUpEval scores the validation that is recorded of the step, or evaluates.
func (l *loop) catchUpEval(ctx context.Context, step int64) error {
	if l.recorded(metrics.KindEval, step) {
		evals := l.metrics.Evals()
		return l.score(step, float64(evals[len(evals)-1].Loss))
	}
	l.news = true
	l.beginAgain("validation", step)
	return l.evaluate(ctx, step)
}

// beginAgain says what is done before the next update, as it was not when the run was stopped.
func (l *loop) beginAgain(what string, step int64) {
	l.progress.Line(fmt.Sprintf("step %d/%d  the %s of this step is not in the measurements, as the run stopped before its end: it begins again", step, l.Train.Steps, what))
}

// recorded says whether the metrics hold a record of the kind for a step.
func (l *loop) recorded(kind string, step int64) bool {
	last, ok := l.metrics.Last(kind)
	return ok && last == step
}
