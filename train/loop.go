package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

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
	lr := l.rate(step) * l.Train.Optimizer.LR
	end := l.span("step")
	r, seen, err := l.update(ctx, step, lr)
	end()
	if err != nil {
		return err
	}
	if !r.Finite() {
		return errors.Join(l.notFinite(step, lr, r), l.save())
	}
	l.state.Step = step
	l.state.Cursor = l.batches.Cursor()
	l.state.Tokens += int64(targets(l.micros))
	if err := l.report(step, lr, r); err != nil {
		return err
	}
	if seen != nil {
		if err := l.metrics.Write(*seen); err != nil {
			return err
		}
	}
	if l.due(l.Checkpoint.Every, step) || l.late() {
		if err := l.save(); err != nil {
			return err
		}
	}
	return l.observe(ctx, step)
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
	for _, m := range l.micros {
		if err := l.batches.Next(m); err != nil {
			return err
		}
	}
	return nil
}

// due says whether something of an interval falls on a step; everything falls on the last.
func (l *loop) due(every int, step int64) bool {
	return step == int64(l.Train.Steps) || every > 0 && step%int64(every) == 0
}

// notFinite explains a loss or gradient that is no number. Nothing was updated in that step.
func (l *loop) notFinite(step int64, lr float64, r Result) error {
	what := fmt.Sprintf("the loss is %v", r.Loss)
	if !math.IsNaN(r.Loss) && !math.IsInf(r.Loss, 0) {
		what = fmt.Sprintf("the gradient norm is %v", r.GradNorm)
	}
	return fmt.Errorf("step %d: %s at learning rate %.3g: the update was not applied and the state before it is saved. "+
		"Lower train.optimizer.lr, lengthen train.schedule.warmup, or set train.clip, then go on with the changed key given by --set. "+
		"Where that fails at once again, the weights are spoiled already: go on from an older checkpoint with --from-step, or start anew with --fresh", step, what, lr)
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
		if !l.recorded(metrics.KindEval, step) {
			if err := l.evaluate(ctx, step); err != nil {
				return err
			}
		} else if err := l.score(step, float64(l.metrics.LastEval().Loss)); err != nil {
			return err
		}
	}
	if l.due(l.Train.Sample.Every, step) && !l.recorded(metrics.KindSample, step) {
		return l.sample(ctx, step)
	}
	return nil
}

// recorded says whether the metrics hold a record of the kind for a step.
func (l *loop) recorded(kind string, step int64) bool {
	last, ok := l.metrics.Last(kind)
	return ok && last == step
}
