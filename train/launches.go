package train

import (
	"fmt"
	"slices"

	"prenorm/kernels"
	"prenorm/model/exec"
	"prenorm/train/profile"
)

// Around runs one launch of a step, or one copy between host and device, as a profiler wants it run: it must call run, once.
type Around func(step exec.StepInfo, run func() error) error

// Trace has the steps from here on run launch by launch through around, nil for plain steps again. What the steps compute stays the same.
func (s *Stepper) Trace(around Around) { s.around = around }

// bound is a launch outside the program, with what it is.
type bound struct {
	run  kernels.Launch
	info exec.StepInfo
	args kernels.Args
}

// binder binds calls outside a program and keeps the first error, and the workspaces that it allocates for calls that were given none.
type binder struct {
	be   kernels.Backend
	work []kernels.Arena
	err  error
}

func (b *binder) bind(path string, c kernels.Call, out kernels.View, in ...kernels.View) bound {
	return b.args(path, c, kernels.Args{Out: []kernels.View{out}, In: in})
}

func (b *binder) args(path string, c kernels.Call, a kernels.Args) bound {
	if b.err != nil {
		return bound{}
	}
	l := bound{info: infoOf(path, c, a), args: a}
	n, err := b.be.Workspace(c, a)
	if err == nil && n > 0 && a.Work.Shape == nil {
		var arena kernels.Arena
		if arena, err = b.be.NewArena(n); err == nil {
			b.work = append(b.work, arena)
			a.Work = arena.View(0, kernels.I8, n)
		}
	}
	if err == nil {
		l.run, err = b.be.Bind(c, a)
	}
	if err != nil {
		b.err = fmt.Errorf("bind %s: %w", c.Kernel(), err)
	}
	return l
}

// infoOf describes a launch outside a program.
func infoOf(path string, c kernels.Call, a kernels.Args) exec.StepInfo {
	info := exec.StepInfo{Path: path, Kernel: c.Kernel(), Call: c, Args: kernels.Args{Out: shapesOf(a.Out), In: shapesOf(a.In)}, FLOPs: kernels.FLOPs(c, a)}
	views := slices.Concat(a.Out, a.In)
	if _, ok := c.(kernels.Fill); ok { // reads nothing
		views = a.Out
	}
	for _, v := range views {
		info.Bytes += int64(v.Bytes())
	}
	return info
}

func shapesOf(views []kernels.View) []kernels.View {
	out := make([]kernels.View, len(views))
	for i, v := range views {
		out[i] = kernels.Shaped(v.DType, v.Shape...)
	}
	return out
}

func (s *Stepper) launch(list []bound) error {
	for i := range list {
		if s.around != nil {
			info := list[i].info
			info.Args = list[i].args
			if err := s.around(info, list[i].run); err != nil {
				return err
			}
		} else if err := list[i].run(); err != nil {
			return err
		}
	}
	return nil
}

// runLaunches runs a program of forward and backward.
func (s *Stepper) runLaunches(program *exec.Program) error {
	if s.around == nil {
		return program.Run()
	}
	return program.Trace(s.around)
}

// set copies to an input of a pass.
func (s *Stepper) set(p *pass, name string, data any) error {
	if s.around == nil {
		return p.program.Set(name, data)
	}
	return s.around(copied(profile.Upload, name, data), func() error { return p.program.Set(name, data) })
}

func (s *Stepper) upload(name string, dst kernels.View, data any) error {
	be := s.weights.Backend()
	if s.around == nil {
		return be.Upload(dst, data)
	}
	return s.around(copied(profile.Upload, name, data), func() error { return be.Upload(dst, data) })
}

func (s *Stepper) download(name string, data any, src kernels.View) error {
	be := s.weights.Backend()
	if s.around == nil {
		return be.Download(data, src)
	}
	return s.around(copied(profile.Download, name, data), func() error { return be.Download(data, src) })
}

// copied describes a copy of a slice of float32 or int32.
func copied(kind, name string, data any) exec.StepInfo {
	n := 0
	switch d := data.(type) {
	case []int32:
		n = len(d)
	case []float32:
		n = len(d)
	}
	return exec.StepInfo{Path: name, Kernel: kind, Bytes: int64(4 * n)}
}

// Steps lists the launches of one update of one micro-batch in order, those around the program included.
func (s *Stepper) Steps() []exec.StepInfo {
	var list []exec.StepInfo
	for _, l := range slices.Concat(s.keep, s.zero) {
		list = append(list, l.info)
	}
	list = append(list, s.Plan().Steps()...)
	for _, l := range slices.Concat(s.plain.addLoss, s.judge, s.update) {
		list = append(list, l.info)
	}
	return list
}
