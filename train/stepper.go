package train

import (
	"context"
	"errors"
	"fmt"

	"prenorm/data/batch"
	"prenorm/kernels"
	"prenorm/model"
	"prenorm/model/exec"
	"prenorm/train/optim"
)

// StepOptions shape the training step of a model.
type StepOptions struct {
	Batch, Context int
	Accumulate     int // micro-batches of one step
	Optimizer      Optimizer
	Clip           float64
	Seed           int64 // of dropout
	Inspect        bool  // [Stepper.Inspect] will be called
	Documents      bool  // attention stays inside documents: batches carry document ids
}

// Stepper runs training steps: for each micro-batch forward and backward into one slab of gradients, then clip and update. Everything that
// changes from step to step is uploaded to small buffers; nothing waits for the device before the step's end, but for what [Stepper.Between]
// has called.
type Stepper struct {
	options   StepOptions
	weights   *model.Weights
	optimizer optim.Optimizer
	grads     *exec.Slab
	moments   []*exec.Slab
	arena     kernels.Arena // of the programs
	plain     *pass
	turn      *pass         // the one that has used the arena last, nil where something else has
	inspector *inspector    // nil: it is not wanted
	small     kernels.Arena // what follows from rates to loss
	zero      []bound
	judge     []bound // the gradient's norm, and the clip factor, which decides whether the update is applied
	update    []bound
	keep      []bound // copies buffers of the model before a step
	restore   []bound // and back, after one that came to nothing
	kept      *exec.Slab
	rates     kernels.View // limits of loss and norm, learning rate and bias corrections
	norm      kernels.View
	clip      kernels.View
	loss      kernels.View

	work []kernels.Arena // workspaces of the launches outside the program

	tokens, targets, counter     staged[int32]
	documents, positions         staged[int32] // empty where attention crosses documents
	normaliser, ratesHost        staged[float32]
	lossHost, normHost, clipHost staged[float32]
	hasDropout                   bool

	unapplied int64 // of the steps before the next
	between   func(Result) error

	around Around
}

// staged is host memory for what is copied to or from the device on every step. It is kept beside itself in an interface, because a slice
// that is put into one anew is an allocation.
type staged[E any] struct {
	data  []E
	boxed any
}

func stage[E any](n int) staged[E] {
	data := make([]E, n)
	return staged[E]{data, data}
}

// smallStride keeps the small buffers on cache lines of their own.
const smallStride = 64

// StepBytes is what a step needs besides the slabs and the program: limits, learning rate, clip factor, norm and loss.
const StepBytes = 3 * smallStride

// NewStepper compiles the training program of the weights' model and allocates gradients and moments.
func NewStepper(w *model.Weights, o StepOptions) (*Stepper, error) {
	rows := o.Batch * o.Context
	s := &Stepper{
		options: o, weights: w, hasDropout: w.Config.Dropout > 0,
		tokens: stage[int32](rows), targets: stage[int32](rows), counter: stage[int32](4), normaliser: stage[float32](1), ratesHost: stage[float32](5),
		lossHost: stage[float32](1), normHost: stage[float32](1), clipHost: stage[float32](1),
	}
	if o.Documents {
		s.documents, s.positions = stage[int32](rows), stage[int32](rows)
	}
	s.Limit(NoLimits, 0)
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.Free())
	}
	return s, nil
}

// open allocates and binds everything. After an error [Stepper.Free] releases what there is.
func (s *Stepper) open() error {
	w, o := s.weights, s.options
	var err error
	if s.optimizer, err = optim.New(o.Optimizer.Kind, optim.Config{Betas: o.Optimizer.Betas, Eps: o.Optimizer.Eps, Momentum: o.Optimizer.Momentum}); err != nil {
		return err
	}
	plan, err := planTrain(w.Backend(), w.Config, o)
	if err != nil {
		return err
	}
	if s.grads, err = model.NewSlab(w.Backend(), kernels.F32, w.Table); err != nil {
		return fmt.Errorf("gradients: %w", err)
	}
	for range s.optimizer.State() {
		m, err := model.NewSlab(w.Backend(), kernels.F32, w.Table)
		if err != nil {
			return fmt.Errorf("moments: %w", err)
		}
		s.moments = append(s.moments, m)
	}
	size := plan.Bytes()
	if o.Inspect {
		if s.inspector, err = newInspector(s); err != nil {
			return err
		}
		size = InspectBytes(plan, s.inspector.plan, w.Slab.Bytes())
	}
	if s.arena, err = w.Backend().NewArena(size); err != nil {
		return fmt.Errorf("training step: arena of %d bytes: %w", size, err)
	}
	if err := errors.Join(s.bindUpdate(), s.bindBuffers()); err != nil {
		return err
	}
	s.plain, err = s.bindPass(plan)
	return err
}

// planTrain compiles the training program.
func planTrain(be kernels.Backend, c model.Config, o StepOptions) (*exec.Plan, error) {
	net, err := model.Build(c, model.Options{Mode: model.Train, B: o.Batch, T: o.Context, Documents: o.Documents})
	if err != nil {
		return nil, err
	}
	return net.Plan(be, o.Accumulate > 1)
}

// Step runs update number step (from 1) on the micro-batches at the learning rate lr. The loss is the mean over all targets of all
// micro-batches, so that the step equals that of one large batch. When ctx ends between two micro-batches, the step is given up with ctx's
// error, and weights, moments and buffers are as they were.
func (s *Stepper) Step(ctx context.Context, step int64, lr float64, micros []*batch.Batch) (Result, error) {
	return s.step(ctx, step, lr, micros, nil)
}

// step is Step, inspected where there is an inspector. Where nothing is applied, it brings buffers of the model back.
func (s *Stepper) step(ctx context.Context, step int64, lr float64, micros []*batch.Batch, in *inspector) (Result, error) {
	if err := s.launch(s.keep); err != nil {
		return Result{}, err
	}
	r, err := s.attempt(ctx, step, lr, micros, in)
	if err == nil && r.Applied() {
		return r, nil
	}
	if failed := s.launch(s.restore); failed != nil {
		err = errors.Join(err, failed)
	}
	return r, err
}

// attempt is a step that leaves buffers of the model changed even where it fails.
func (s *Stepper) attempt(ctx context.Context, step int64, lr float64, micros []*batch.Batch, in *inspector) (Result, error) {
	if err := s.begin(micros); err != nil {
		return Result{}, err
	}
	for i, m := range micros {
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		if err := s.micro(step, i, m, in); err != nil {
			return Result{}, err
		}
	}
	for i, v := range s.optimizer.Hyper(step-s.unapplied, lr) {
		s.ratesHost.data[2+i] = float32(v)
	}
	if err := s.upload("hyper", s.rates, s.ratesHost.boxed); err != nil {
		return Result{}, err
	}
	if in != nil {
		if err := in.begin(); err != nil {
			return Result{}, err
		}
	}
	if err := s.launch(s.judge); err != nil {
		return Result{}, err
	}
	if s.between != nil {
		r, err := s.read()
		if err = errors.Join(err, s.between(r)); err != nil {
			return r, err
		}
	}
	if err := s.launch(s.update); err != nil {
		return Result{}, err
	}
	if in != nil {
		if err := in.finish(); err != nil {
			return Result{}, err
		}
	}
	return s.read()
}

// begin empties the sums over micro-batches.
func (s *Stepper) begin(micros []*batch.Batch) error {
	if len(micros) != max(s.options.Accumulate, 1) {
		return fmt.Errorf("train: %d micro-batches, the step was made for %d", len(micros), s.options.Accumulate)
	}
	s.normaliser.data[0] = float32(targets(micros))
	return s.launch(s.zero)
}

// targets counts what the loss is averaged over; at least 1, so that a batch of ignored targets has loss 0.
func targets(micros []*batch.Batch) int {
	n := 0
	for _, m := range micros {
		n += countTargets(m)
	}
	return max(n, 1)
}

// countTargets counts the targets that are not ignored.
func countTargets(b *batch.Batch) int {
	n := 0
	for _, t := range b.Targets {
		if t >= 0 {
			n++
		}
	}
	return n
}

// Grads is the slab of the last step's gradients.
func (s *Stepper) Grads() *exec.Slab { return s.grads }

// Moments are the optimizer's slabs, named by [Stepper.MomentNames].
func (s *Stepper) Moments() []*exec.Slab { return s.moments }

// MomentNames are the names of the optimizer's slabs.
func (s *Stepper) MomentNames() []string { return s.optimizer.State() }

// Between has f called in the steps from here on between gradient and update, with weights and moments as they were before the step; nil has
// nothing called. Waiting for the device there costs time.
func (s *Stepper) Between(f func(Result) error) { s.between = f }

// Plan is the compiled training program.
func (s *Stepper) Plan() *exec.Plan { return s.plain.program.Plan() }

// ArenaBytes is the memory of the step's programs.
func (s *Stepper) ArenaBytes() int { return s.arena.Bytes() }

// Free releases gradients, moments and the program's memory.
func (s *Stepper) Free() error {
	var err error
	if s.arena != nil {
		err = s.arena.Free()
	}
	if s.inspector != nil {
		err = errors.Join(err, s.inspector.free())
	}
	if s.small != nil {
		err = errors.Join(err, s.small.Free())
	}
	if s.kept != nil {
		err = errors.Join(err, s.kept.Free())
	}
	for _, a := range s.work {
		err = errors.Join(err, a.Free())
	}
	if s.grads != nil {
		err = errors.Join(err, s.grads.Free())
	}
	for _, m := range s.moments {
		err = errors.Join(err, m.Free())
	}
	return err
}
