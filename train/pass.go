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
	addLoss []bound
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
	p := &pass{program: program, addLoss: []bound{b.bind(pathLossSum, kernels.Add{}, s.loss, s.loss, loss)}}
	s.work = append(s.work, b.work...)
	return p, b.err
}

// use makes the arena a pass's own before micro-batch i.
func (s *Stepper) use(p *pass, i int) error {
	taken := s.turn != p
	if taken {
		if err := p.program.Preset(); err != nil {
			return err
		}
		s.turn = p
	}
	if taken || i == 0 {
		return s.set(p, model.InNormaliser, s.normaliser.boxed)
	}
	return nil
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
	if err := s.use(p, i); err != nil {
		return err
	}
	if err := s.set(p, model.InTokens, s.tokens.boxed); err != nil {
		return err
	}
	if err := s.set(p, model.InTargets, s.targets.boxed); err != nil {
		return err
	}
	if s.options.Documents {
		if err := s.setDocuments(p, i, m); err != nil {
			return err
		}
	}
	if s.hasDropout {
		c := s.counter.data
		c[0], c[1], c[2], c[3] = int32(s.options.Seed), int32(s.options.Seed>>32), int32(step), int32(i)
		if err := s.set(p, model.InCounter, s.counter.boxed); err != nil {
			return err
		}
	}
	if err := s.runLaunches(p.program); err != nil {
		return err
	}
	return s.launch(p.addLoss)
}
