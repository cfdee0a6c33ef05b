package train

import (
	"fmt"

	"prenorm/data/batch"
	"prenorm/kernels"
	"prenorm/model"
	"prenorm/model/exec"
)

// pass is a program of loss and gradients with the launch that counts its loss.
type pass struct {
	program *exec.Program
	addLoss kernels.Launch
}

// bindPass binds a program in the step's arena.
func (s *Stepper) bindPass(plan *exec.Plan) (*pass, error) {
	external := s.weights.Views()
	for name, v := range s.grads.Views(model.GradPrefix) {
		external[name] = v
	}
	program, err := plan.BindIn(s.arena, external)
	if err != nil {
		return nil, err
	}
	s.turn = nil
	loss, err := program.View(model.OutLoss)
	if err != nil {
		return nil, err
	}
	b := binder{be: s.weights.Backend()}
	p := &pass{program: program, addLoss: b.bind(kernels.Add{}, s.loss, s.loss, loss)}
	s.work = append(s.work, b.work...)
	return p, b.err
}

// bindBuffers binds the copies of the model's buffers, which a pass changes: a step that is given up or not finite leaves none of that.
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
	s.keep = []kernels.Launch{b.bind(kernels.Scale{Factor: 1}, s.kept.All(), w.Buffers.All())}
	s.restore = []kernels.Launch{b.bind(kernels.Scale{Factor: 1}, w.Buffers.All(), s.kept.All())}
	s.work = append(s.work, b.work...)
	return b.err
}

// use makes the arena a pass's own.
func (s *Stepper) use(p *pass) error {
	if s.turn != p {
		if err := p.program.Preset(); err != nil {
			return err
		}
		s.turn = p
	}
	return p.program.Set(model.InNormaliser, s.normaliser.boxed)
}

// micro runs micro-batch i.
func (s *Stepper) micro(step int64, i int, m *batch.Batch, in *inspector) error {
	if in == nil || i != inspectedMicro {
		return s.run(s.plain, step, i, m)
	}
	if err := s.run(in.pass, step, i, m); err != nil {
		return err
	}
	return in.read()
}

// run runs a pass on micro-batch i.
func (s *Stepper) run(p *pass, step int64, i int, m *batch.Batch) error {
	if rows := len(s.tokens.data); len(m.Inputs) != rows || len(m.Targets) != rows {
		return fmt.Errorf("train: micro-batch %d has %d inputs and %d targets, the step was made for %d", i, len(m.Inputs), len(m.Targets), rows)
	}
	copy(s.tokens.data, m.Inputs)
	copy(s.targets.data, m.Targets)
	if err := s.use(p); err != nil {
		return err
	}
	if err := p.program.Set(model.InTokens, s.tokens.boxed); err != nil {
		return err
	}
	if err := p.program.Set(model.InTargets, s.targets.boxed); err != nil {
		return err
	}
	if s.hasDropout {
		c := s.counter.data
		c[0], c[1], c[2], c[3] = int32(s.options.Seed), int32(s.options.Seed>>32), int32(step), int32(i)
		if err := p.program.Set(model.InCounter, s.counter.boxed); err != nil {
			return err
		}
	}
	if err := p.program.Run(); err != nil {
		return err
	}
	return p.addLoss()
}
