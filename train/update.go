package train

import (
	"fmt"

	"prenorm/kernels"
	"prenorm/model"
)

// bindUpdate binds what runs around the program: zeroing, the sum of losses, norm, clip factor and the optimizer's two calls, one for the
// tensors that decay and one for the rest.
func (s *Stepper) bindUpdate() error {
	be := s.weights.Backend()
	small, err := be.NewArena(StepBytes)
	if err != nil {
		return err
	}
	s.small = small
	s.hyper, s.clip = s.small.View(0, kernels.F32, 3), s.small.View(3*4, kernels.F32, 1)
	s.norm, s.loss = s.small.View(smallStride, kernels.F32, 1), s.small.View(2*smallStride, kernels.F32)
	b := binder{be: be}
	if s.options.Accumulate > 1 {
		s.zero = append(s.zero, b.bind(kernels.Fill{}, s.grads.All(), s.grads.All()))
	}
	s.zero = append(s.zero, b.bind(kernels.Fill{}, s.loss, s.loss))
	s.update = append(s.update, b.bind(kernels.GlobalNorm{}, s.norm, s.grads.All()), b.bind(kernels.ClipFactor{Max: s.options.Clip}, s.clip, s.norm))
	hyper := s.small.View(0, kernels.F32, 4)
	decayed := model.Decayed(s.weights.Table)
	for _, part := range []struct {
		from, to int
		decay    float64
	}{{0, decayed, s.options.Optimizer.WeightDecay}, {decayed, len(s.weights.Table), 0}} {
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
		s.update = append(s.update, b.args(s.optimizer.Update(part.decay), a))
	}
	s.work = append(s.work, b.work...)
	return b.err
}

// binder binds calls outside a program and keeps the first error, and the workspaces that it allocates.
type binder struct {
	be   kernels.Backend
	work []kernels.Arena
	err  error
}

func (b *binder) bind(c kernels.Call, out kernels.View, in ...kernels.View) kernels.Launch {
	return b.args(c, kernels.Args{Out: []kernels.View{out}, In: in})
}

func (b *binder) args(c kernels.Call, a kernels.Args) kernels.Launch {
	if b.err != nil {
		return nil
	}
	n, err := b.be.Workspace(c, a)
	if err == nil && n > 0 && a.Work.Shape == nil {
		var arena kernels.Arena
		if arena, err = b.be.NewArena(n); err == nil {
			b.work = append(b.work, arena)
			a.Work = arena.View(0, kernels.I8, n)
		}
	}
	var l kernels.Launch
	if err == nil {
		l, err = b.be.Bind(c, a)
	}
	if err != nil {
		b.err = fmt.Errorf("bind %s: %w", c.Kernel(), err)
	}
	return l
}

func launch(list []kernels.Launch) error {
	for _, l := range list {
		if err := l(); err != nil {
			return err
		}
	}
	return nil
}
