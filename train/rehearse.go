package train

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"prenorm/data/dataset"
	"prenorm/kernels"
	"prenorm/train/checkpoint"
)

// rehearsed is how many steps a rehearsal takes. The first is not timed: it finds nothing in the caches.
const rehearsed = 3

// Rehearsal is what the first steps of a run showed, of which nothing is kept.
type Rehearsal struct {
	Step       int64 // updates done before
	Measured   int   // steps taken
	Parameters int64
	Data       dataset.Stats
	Update     time.Duration // of one step
	Validation time.Duration // of one
	Sample     time.Duration // of one
	Host       int64         // bytes of memory in use after all that; 0 = not known
	Device     int64         // bytes of the device's memory taken by the run; 0 = it has none of its own
	Refused    []checkpoint.Refused
}

// Rehearse prepares a run as [Run] does, new or from its newest checkpoint, and takes a few steps, a part of a validation and of a sample. It
// writes nothing but prepared text.
func Rehearse(ctx context.Context, be kernels.Backend, j Job) (r Rehearsal, err error) {
	free, err := freeMemory(be)
	if err != nil {
		return Rehearsal{}, err
	}
	l := &loop{Job: j, be: be, began: time.Now()}
	defer func() { err = errors.Join(err, l.close()) }()
	if _, r.Refused, err = l.assemble(ctx); err != nil {
		return r, err
	}
	debug.FreeOSMemory() // what preparing took is not what training takes
	r.Step, r.Data, r.Parameters = l.state.Step, l.data.Stats, l.weights.Count()
	if text := l.warnValidation(); text != "" {
		fmt.Fprintln(l.Out, text)
	}
	if err := l.rehearse(ctx, &r); err != nil {
		return r, err
	}
	r.Host = int64(kernels.ResidentMemory())
	left, err := freeMemory(be)
	r.Device = max(free-left, 0)
	return r, err
}

// freeMemory is that of a device, 0 where it has none of its own.
func freeMemory(be kernels.Backend) (int64, error) {
	if d, ok := be.(kernels.Limited); ok {
		return d.FreeMemory()
	}
	return 0, nil
}

// rehearse takes the times.
func (l *loop) rehearse(ctx context.Context, r *Rehearsal) error {
	for i := range int64(rehearsed) {
		began := time.Now()
		step := min(l.state.Step+i+1, int64(l.Train.Steps)) // beyond the last, the schedule ends
		if err := l.read(); err != nil {
			return err
		}
		if _, err := l.stepper.Step(ctx, step, l.rate(step)*l.Train.Optimizer.LR, l.micros); err != nil {
			return err
		}
		r.Measured++
		if spent := time.Since(began); i > 0 && (r.Update == 0 || spent < r.Update) {
			r.Update = spent
		}
	}
	for _, reader := range l.validation {
		began := time.Now()
		if _, err := l.evaluator.read(ctx, reader, 1); err != nil && !errors.Is(err, errNoTarget) { // others may have some
			return err
		}
		r.Validation += scaled(time.Since(began), batchesOf(reader.Windows(), l.Train.Batch), 1)
	}
	const tokens = 16
	wanted := l.Train.Sample.Tokens
	l.Train.Sample.Tokens = min(wanted, tokens)
	began := time.Now()
	if _, err := l.sampleText(ctx, l.state.Step); err != nil {
		return err
	}
	r.Sample = scaled(time.Since(began), int64(wanted), int64(max(l.Train.Sample.Tokens, 1)))
	return nil
}

// scaled is the time for all where a part took d.
func scaled(d time.Duration, all, part int64) time.Duration {
	return time.Duration(float64(d) * max(float64(all)/float64(max(part, 1)), 1))
}
