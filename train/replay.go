package train

import (
	"context"
	"errors"
	"fmt"
	"math"

	"prenorm/kernels"
	"prenorm/model"
)

// Replayed is what a bundle's step gives when it is run again.
type Replayed struct {
	Result
	Diagnosis
	Spoiled []string // tensors that were not finite before the step
}

// Replay runs the step of a bundle of a run with the given model, training settings and seed. On the kind of device and in the precision that it
// was recorded on, it gives the same bits.
func Replay(ctx context.Context, be kernels.Backend, b *Bundle, c model.Config, t Config, seed int64) (r Replayed, err error) {
	m := b.Micros[0]
	if m.T != c.Context || m.B != t.Batch || len(b.Micros) != max(t.Accumulate, 1) {
		return r, fmt.Errorf("bundle %s: %d micro-batches of %d sequences of %d tokens do not fit its run file (train.accumulate %d, train.batch %d, model.context %d)",
			b.Path, len(b.Micros), m.B, m.T, t.Accumulate, t.Batch, c.Context)
	}
	if err := fitModel(c, b.State.Weights); err != nil { // before memory is taken for what the run file says
		return r, fmt.Errorf("bundle %s: %w", b.Path, err)
	}
	w, err := model.NewWeights(be, c)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, w.Free()) }()
	s, err := NewStepper(w, StepOptions{Batch: t.Batch, Context: c.Context, Accumulate: t.Accumulate, Optimizer: t.Optimizer, Clip: t.Clip, Seed: seed, Documents: m.Docs != nil})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Free()) }()
	state, err := restore(ctx, w, s, b.State, "bundle "+b.Path)
	if err != nil {
		return r, err
	}
	s.Limit(b.Report.Limits, state.Guard.unapplied())
	sizes, err := s.Sizes()
	if err != nil {
		return r, err
	}
	r.Spoiled = spoiled(sizes)
	if r.Result, err = s.Step(ctx, b.Report.Step, b.Report.LR, b.Micros); err != nil || r.Applied() {
		return r, err
	}
	r.Diagnosis, err = s.Diagnose(ctx, b.Report.Step, b.Micros)
	return r, err
}

// SameBits says whether loss and norm are those that were recorded.
func (r Replayed) SameBits(b *Bundle) bool {
	return sameBits(r.Loss, float64(b.Report.Loss)) && sameBits(r.GradNorm, float64(b.Report.GradNorm))
}

// sameBits takes all NaNs for one: which of them comes out says nothing.
func sameBits(x, y float64) bool {
	return math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
}

// SameFinding says whether the op that was named is named again.
func (r Replayed) SameFinding(b *Bundle) bool {
	if r.First == nil || b.Report.First == nil {
		return r.First == nil && b.Report.First == nil
	}
	return r.First.Same(*b.Report.First)
}
