package train

import (
	"prenorm/kernels"
	"prenorm/model"
)

// Paths of launches that belong to the step and to no pass.
const (
	pathLossSum = "loss.sum"
	pathNorm    = "clip.norm"
)

// bindUpdate binds what runs around the program: zeroing, norm and clip factor, which judge the step, and the optimizer's two calls, one for
// the tensors that decay and one for the rest.
func (s *Stepper) bindUpdate() error {
	be := s.weights.Backend()
	small, err := be.NewArena(StepBytes)
	if err != nil {
		return err
	}
	s.small = small
	const limits, rates, clip = 2 * 4, 4 * 4, 7 * 4 // in bytes: limits and rates are one upload, rates and clip factor are the optimizer's
	s.rates, s.clip = s.small.View(limits, kernels.F32, 5), s.small.View(clip, kernels.F32, 1)
	s.norm, s.loss = s.small.View(smallStride, kernels.F32, 1), s.small.View(2*smallStride, kernels.F32)
	b := binder{be: be}
	if s.options.Accumulate > 1 {
		s.zero = append(s.zero, b.bind("zero.grads", kernels.Fill{}, s.grads.All(), s.grads.All()))
	}
	s.zero = append(s.zero, b.bind("zero.loss", kernels.Fill{}, s.loss, s.loss))
	s.judge = []bound{b.bind(pathNorm, kernels.GlobalNorm{}, s.norm, s.grads.All()),
		b.bind("clip.factor", kernels.ClipFactor{Max: s.options.Clip}, s.clip, s.norm, s.loss, s.small.View(limits, kernels.F32, 2))}
	hyper := s.small.View(rates, kernels.F32, 4)
	decayed := model.Decayed(s.weights.Table)
	for _, part := range []struct {
		path     string
		from, to int
		decay    float64
	}{{"update.decayed", 0, decayed, s.options.Optimizer.WeightDecay}, {"update.rest", decayed, len(s.weights.Table), 0}} {
		if part.from == part.to {
			continue
		}
		p := s.weights.Slab.Range(part.from, part.to)
		a := kernels.Args{Out: []kernels.View{p}, In: []kernels.View{p}}
		for _, m := range s.moments {
			a.Out = append(a.Out, m.Range(part.from, part.to))
			a.In = append(a.In, m.Range(part.from, part.to))
		}
		a.In = append(a.In, s.grads.Range(part.from, part.to), hyper)
		s.update = append(s.update, b.args(part.path, s.optimizer.Update(part.decay), a))
	}
	s.work = append(s.work, b.work...)
	return b.err
}

// bindBuffers binds the copies of the model's buffers, which a pass changes: a step that is given up or not applied leaves none of that.
func (s *Stepper) bindBuffers() error {
	w := s.weights
	if w.Buffers == nil {
		return nil
	}
	var err error
	if s.kept, err = model.NewSlab(w.Backend(), kernels.F32, w.BufferTable); err != nil {
		return err
	}
	b := binder{be: w.Backend()}
	s.keep = []bound{b.bind("buffers.keep", kernels.Scale{Factor: 1}, s.kept.All(), w.Buffers.All())}
	s.restore = []bound{b.bind("buffers.restore", kernels.Scale{Factor: 1}, w.Buffers.All(), s.kept.All())}
	s.work = append(s.work, b.work...)
	return b.err
}
