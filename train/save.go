package train

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"prenorm/kernels"
	"prenorm/train/checkpoint"
	"prenorm/train/metrics"
)

// Scored is a checkpoint whose weights were validated.
type Scored struct {
	Step int64   `json:"step"`
	Loss float64 `json:"loss"` // nats a token
}

// openSaver makes ready for saving: where checkpoints are written in the background, it takes the memory of the copy, and fills it, so that
// the first save waits no longer than the others.
func (l *loop) openSaver() error {
	l.saver = checkpoint.NewSaver(l.disk(), checkpointRoot(l.Dir))
	l.copied = time.Now()
	bytes := HeldBytes(l.weights.Table, l.weights.BufferTable, len(l.stepper.Moments()))
	background, why := l.Checkpoint.InBackground(bytes, 0)
	if why != "" {
		fmt.Fprintln(l.Out, why)
	}
	if !background {
		return nil
	}
	var err error
	if l.held, err = newHeld(l.weights, l.stepper); err != nil {
		return fmt.Errorf("checkpoint.background: %w: set it to %s, and training waits while a checkpoint is written", err, BackgroundNever)
	}
	return l.held.hold(l.state)
}

// InBackground says whether checkpoints are written from a copy of the state, which takes so many bytes, and why not where the memory decides.
// planned is what will be allocated on the host before the copy.
func (c Checkpoint) InBackground(bytes, planned int64) (background bool, why string) {
	switch c.Background {
	case BackgroundAlways:
		return true, ""
	case BackgroundNever:
		return false, ""
	}
	left, known := kernels.HostLeft()
	left = max(left-planned, 0)
	if !known || bytes <= left/2 {
		return true, ""
	}
	return false, fmt.Sprintf("checkpoints: training waits while they are written, as a copy of the state takes %s and %s of memory are left (checkpoint.background)",
		metrics.Bytes(bytes), metrics.Bytes(left))
}

// late says whether it is time for a checkpoint by the clock, which counts from the copy before.
func (l *loop) late() bool {
	m := l.Checkpoint.Minutes
	return m > 0 && time.Since(l.copied).Minutes() >= m
}

// save saves a checkpoint of the present state, unless there is one of it, or one at work. In the background, it waits for the save before,
// and for the copy of the state.
func (l *loop) save() error { return l.saveKeeping(l.there) }

// saveKeeping is save with the checkpoints that are the best from here on.
func (l *loop) saveKeeping(best []Scored) error {
	if l.saved == l.state.Step {
		return nil
	}
	defer l.span("checkpoint")()
	if err := l.settle(); err != nil {
		return err
	}
	h := l.held
	if h == nil {
		var err error
		if h, err = newWindows(l.weights, l.stepper); err != nil {
			return err
		}
		defer h.Free()
	}
	if err := h.hold(l.state); err != nil {
		return err
	}
	l.saver.Begin(l.snapshot(h), l.Checkpoint.Kept(best), l.metrics.Sync)
	l.saved, l.copied, l.news = l.state.Step, time.Now(), true
	if h == l.held {
		return nil
	}
	return l.settle()
}

// settle waits for the save at work, and returns its error.
func (l *loop) settle() error { return l.afterSave(l.saver.Wait()) }

// lookBack returns the error of a save that has failed in the background.
func (l *loop) lookBack() error {
	dir, over, err := l.saver.Poll()
	if !over {
		return nil
	}
	return l.afterSave(dir, err)
}

// afterSave takes note of a save's outcome.
func (l *loop) afterSave(dir string, err error) error {
	if dir != "" {
		l.newest = dir
	} else if err != nil {
		l.saved, l.failed = -1, true
	}
	return err
}

// disk is the file system as far as the run's folder is the one that it began in.
func (l *loop) disk() checkpoint.FS { return l.Lock.Guard(checkpoint.OS) }

// ending is [loop.finish] after an error or none. Where the run's folder was moved away nothing more is saved, and that is said once.
func (l *loop) ending(err error) error {
	moved := l.Lock.Held()
	if moved == nil {
		return errors.Join(err, l.finish())
	}
	if err = errors.Join(err, l.settle()); errors.Is(err, checkpoint.ErrMoved) {
		return err
	}
	return errors.Join(err, moved)
}

// finish says what the guard has cost the run, waits for the save at work, saves what one that failed has not, as the disk may have room
// again, and removes what the last validation has made needless. A run that was done before removes nothing.
func (l *loop) finish() error {
	if text := l.state.Guard.summary(); text != "" {
		l.progress.Line(text)
	}
	err := l.settle()
	if l.failed {
		return errors.Join(err, l.save(), l.settle())
	}
	if err == nil && l.newest != "" && l.news {
		_, err = checkpoint.Prune(l.disk(), checkpointRoot(l.Dir), l.Checkpoint.Kept(l.there))
	}
	return err
}

// Kept is the policy of removing, best being the checkpoints of the least validation losses.
func (c Checkpoint) Kept(best []Scored) checkpoint.Keep {
	k := checkpoint.Keep{Newest: c.Keep, Every: int64(c.KeepEvery)}
	for _, b := range best[:min(len(best), c.KeepBest)] {
		k.Best = append(k.Best, b.Step)
	}
	return k
}

// Best is the list of the best checkpoints after one more validation.
func (c Checkpoint) Best(list []Scored, step int64, loss float64) []Scored {
	if notFinite(loss) {
		return list
	}
	list = slices.DeleteFunc(slices.Clone(list), func(b Scored) bool { return b.Step == step })
	list = append(list, Scored{step, loss})
	slices.SortFunc(list, func(a, b Scored) int { return cmp.Or(cmp.Compare(a.Loss, b.Loss), cmp.Compare(a.Step, b.Step)) })
	return list[:min(len(list), c.KeepBest)]
}

// score takes note of a validation loss, and sees that there is a checkpoint where it is among the best. What a checkpoint itself says of
// the best is what was known before its own validation: so it is the same whether it was saved before or after.
func (l *loop) score(step int64, loss float64) error {
	if l.Checkpoint.KeepBest == 0 {
		return nil
	}
	there := l.Checkpoint.Best(l.there, step, loss)
	if slices.ContainsFunc(there, func(b Scored) bool { return b.Step == step }) {
		if err := l.saveKeeping(there); err != nil {
			return err
		}
	}
	l.there = there
	l.state.Best = l.Checkpoint.Best(l.state.Best, step, loss)
	return nil
}

// BestThere are the best among the checkpoints of a run that are there. While those that its state knows are, that is what the state says.
// Where one is gone, by hand or with what came after it, the validations up to the state's step tell which stand in for it. The state itself
// does not forget it: it says what an uninterrupted run's does.
func (c Checkpoint) BestThere(state State, validations []Scored, there []checkpoint.Entry) []Scored {
	has := func(b Scored) bool {
		return slices.ContainsFunc(there, func(e checkpoint.Entry) bool { return e.Step == b.Step })
	}
	wanted := state.Best[:min(len(state.Best), c.KeepBest)]
	if !slices.ContainsFunc(wanted, func(b Scored) bool { return !has(b) }) {
		return wanted
	}
	var best []Scored
	for _, b := range slices.Concat(validations, wanted) {
		if has(b) && b.Step <= state.Step {
			best = c.Best(best, b.Step, b.Loss)
		}
	}
	return best
}

// openBest looks for the best checkpoints, once the measurements are open.
func (l *loop) openBest() error {
	there, err := checkpoint.List(checkpoint.OS, checkpointRoot(l.Dir))
	l.state.Best = l.state.Best[:min(len(l.state.Best), l.Checkpoint.KeepBest)]
	var validations []Scored
	for _, e := range l.metrics.Evals() {
		validations = append(validations, Scored{e.Step, float64(e.Loss)})
	}
	l.there = l.Checkpoint.BestThere(l.state, validations, there)
	return err
}
