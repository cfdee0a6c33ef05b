package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"prenorm/data/batch"
	"prenorm/kernels"
	"prenorm/model"
	"prenorm/train"
	"prenorm/train/profile"
)

// warmUp is how many steps go before those that are timed, and profiled how many are recorded launch by launch after them.
const (
	warmUp   = 2
	profiled = 3
)

// trainer is a model with its training step and one batch of random tokens.
type trainer struct {
	weights *model.Weights
	stepper *train.Stepper
	micros  []*batch.Batch
	step    int64
	loss    float64
}

func newTrainer(be kernels.Backend, o Options) (*trainer, error) {
	w, err := model.NewWeights(be, o.Model)
	if err != nil {
		return nil, err
	}
	t := &trainer{weights: w}
	if err := w.Initialise(o.Seed); err != nil {
		return nil, errors.Join(err, t.free())
	}
	accumulate := max(o.Train.Accumulate, 1)
	t.stepper, err = train.NewStepper(w, train.StepOptions{Batch: o.Train.Batch, Context: o.Model.Context, Accumulate: accumulate,
		Optimizer: o.Train.Optimizer, Clip: o.Train.Clip, Seed: o.Seed})
	if err != nil {
		return nil, errors.Join(err, t.free())
	}
	r := rand.New(rand.NewPCG(uint64(o.Seed), 1))
	for range accumulate {
		b := &batch.Batch{B: o.Train.Batch, T: o.Model.Context}
		for range b.B * b.T {
			b.Inputs, b.Targets = append(b.Inputs, r.Int32N(int32(o.Model.Vocab))), append(b.Targets, r.Int32N(int32(o.Model.Vocab)))
		}
		t.micros = append(t.micros, b)
	}
	return t, nil
}

func (t *trainer) free() error {
	var err error
	if t.stepper != nil {
		err = t.stepper.Free()
	}
	return errors.Join(err, t.weights.Free())
}

// run does one step, and returns how long it took from the upload of its tokens to its loss on the host.
func (t *trainer) run(ctx context.Context) (float64, error) {
	t.step++
	began := time.Now()
	r, err := t.stepper.Step(ctx, t.step, 1e-4, t.micros)
	if err == nil && !r.Finite() {
		err = fmt.Errorf("step %d: the loss is %v", t.step, r.Loss)
	}
	t.loss = r.Loss
	return time.Since(began).Seconds(), err
}

// MeasureTrain times training steps. It returns the recording of a few of them, from which the table of kernels is made.
func (r *Report) MeasureTrain(ctx context.Context, be kernels.Backend, o Options) (recording *profile.Recorder, err error) {
	t, err := newTrainer(be, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.free()) }()
	for range warmUp {
		if _, err := t.run(ctx); err != nil {
			return nil, err
		}
	}
	var times []float64
	for began := time.Now(); len(times) < atLeast || time.Since(began).Seconds() < o.Seconds; {
		seconds, err := t.run(ctx)
		if err != nil {
			return nil, err
		}
		times = append(times, seconds)
	}
	flops := t.stepper.Plan().FLOPs() * int64(len(t.micros))
	tokens := float64(o.Train.Batch*o.Model.Context) * float64(len(t.micros))
	m := &Train{Steps: len(times), Median: median(times), Min: slices.Min(times)}
	m.Tokens, m.GFLOPs = tokens/m.Median, rate(flops, m.Median)
	m.ShareOfPeak = m.GFLOPs / r.Ceilings.Arithmetic()
	r.Train = m
	recording, err = t.record(ctx, be)
	if err != nil {
		return nil, err
	}
	m.Loss = t.loss
	m.share(recording.Launches, r.Ceilings.profile())
	return recording, nil
}

// record runs a few steps launch by launch.
func (t *trainer) record(ctx context.Context, be kernels.Backend) (*profile.Recorder, error) {
	rec := profile.New(be)
	if err := rec.Start(); err != nil {
		return nil, err
	}
	t.stepper.Trace(rec.Around)
	defer t.stepper.Trace(nil)
	for range profiled {
		end := rec.Span("step")
		if _, err := t.run(ctx); err != nil {
			return nil, err
		}
		end()
	}
	return rec, rec.Stop()
}

// share makes the table of kernels, for one step.
func (m *Train) share(launches []profile.Launch, c profile.Ceilings) {
	rows := profile.ByKernel(launches, c)
	var total float64
	for _, w := range rows {
		total += w.Seconds
	}
	for _, w := range rows {
		m.Kernels = append(m.Kernels, StepShare{Kernel: w.Kernel, Launches: w.Launches / profiled, Seconds: w.Seconds / profiled, Of: w.Seconds / total,
			GFLOPs: rate(w.FLOPs, w.Seconds), GBs: rate(w.Bytes, w.Seconds), Share: w.Roof / w.Seconds})
	}
}
