package kerneltest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"prenorm/kernels"
)

// checkRefusals wants Bind to refuse views that do not fit the call, on the first case whose views all have elements to take away.
func (h *harness) checkRefusals(cases []testCase) error {
	for _, c := range cases {
		if c.fails == nil && !slices.ContainsFunc(c.in, func(x tensor) bool { return len(x.floats)+len(x.ints) == 0 }) {
			return h.refusals(c)
		}
	}
	return errors.New("the suite has no case without empty views")
}

// misfit spoils the views of a call in one way. It returns false when it does not apply.
type misfit struct {
	what  string
	spoil func(a *kernels.Args) bool
}

var misfits = []misfit{
	{"no output", func(a *kernels.Args) bool { a.Out = nil; return true }},
	{"one output too many", func(a *kernels.Args) bool { a.Out = append(a.Out, a.Out[0]); return true }},
	{"an input too few", func(a *kernels.Args) bool { a.In = a.In[:len(a.In)-1]; return true }},
	{"an output of another rank", func(a *kernels.Args) bool { return reshape(a.Out, 0) }},
	{"a last output of another rank", func(a *kernels.Args) bool { return reshape(a.Out, len(a.Out)-1) }},
	{"an output of another type", func(a *kernels.Args) bool { return retype(a.Out, 0) }},
	{"a first input of another type", func(a *kernels.Args) bool { return retype(a.In, 0) }},
	{"a last input of another type", func(a *kernels.Args) bool { return retype(a.In, len(a.In)-1) }},
	{"a statistic of another rank", func(a *kernels.Args) bool { return len(a.Aux) > 0 && reshape(a.Aux, 0) }},
	{"a saved statistic of another rank", func(a *kernels.Args) bool { return len(a.Saved) > 0 && reshape(a.Saved, 0) }},
	{"a saved statistic of another type", func(a *kernels.Args) bool { return len(a.Saved) > 0 && retype(a.Saved, 0) }},
}

// reshape gives view i another rank over the same memory.
func reshape(views []kernels.View, i int) bool {
	views[i].Shape = append([]int{1, 1, 1, 1}, views[i].Shape...)
	return true
}

// retype gives view i another type that fits its memory.
func retype(views []kernels.View, i int) bool {
	if views[i].DType == kernels.I32 {
		views[i].DType = kernels.F32
	} else {
		views[i].DType = kernels.I32
	}
	return true
}

func (h *harness) refusals(c testCase) (err error) {
	v := variant{aux: true, saved: true, inPlace: -1}
	l, arena, err := newLayout(h.be, c, h.dtype, h.types, v)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, arena.Free()) }()
	if _, err := h.be.Bind(c.call, l.args); err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	if h.dtype == kernels.F32 {
		if err := h.narrowed(c, l.args); err != nil {
			return err
		}
	}
	for _, m := range misfits {
		a := l.args
		a.Out, a.Aux, a.In, a.Saved = slices.Clone(a.Out), slices.Clone(a.Aux), slices.Clone(a.In), slices.Clone(a.Saved)
		if !m.spoil(&a) {
			continue
		}
		if _, err := h.be.Bind(c.call, a); err == nil {
			return fmt.Errorf("%s %+v: Bind accepts %s", c.name, c.call, m.what)
		}
	}
	return nil
}

// narrowed wants Bind to refuse a BF16 view in every place where the call's rule says F32.
func (h *harness) narrowed(c testCase, args kernels.Args) error {
	rule := kernels.TypesOf(c.call)
	for i := range len(args.In) + len(args.Out) {
		a := args
		a.Out, a.In = slices.Clone(a.Out), slices.Clone(a.In)
		views, letters := a.In, pad(rule.In, len(a.In))
		if i >= len(args.In) {
			i, views, letters = i-len(args.In), a.Out, pad(rule.Out, len(a.Out))
		}
		if letters[i] != 'w' || views[i].DType != kernels.F32 {
			continue
		}
		views[i].DType = kernels.BF16
		if _, err := h.be.Bind(c.call, a); err == nil {
			return fmt.Errorf("%s %+v: Bind accepts %v <- %v", c.name, c.call, a.Out, a.In)
		}
	}
	return nil
}

// refuseNarrow wants Workspace to refuse every choice of BF16 views, with an error that names the call and the types that are taken.
func refuseNarrow(be kernels.Backend, name string) (errs []error) {
	for _, c := range families[name].cases(newGenerator(name, kernels.F32)) {
		for _, way := range patterns(c.call, len(c.in), outputs(c)) {
			a := kernels.Args{}
			for i, x := range c.in {
				a.In = append(a.In, x.view(of(way.in, i, kernels.F32)))
			}
			wide := kernels.Widened(a)
			a.Out, _, _ = c.call.Infer(wide.In)
			for i := range a.Out {
				a.Out[i].DType = of(way.out, i, kernels.F32)
			}
			if _, err := be.Workspace(c.call, a); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "computes in f32 only") {
				return append(errs, fmt.Errorf("%s %+v: %v <- %v gives the error %v", c.name, c.call, a.Out, a.In, err))
			}
		}
	}
	return nil
}

// unknown is a call that no backend has.
type unknown struct{}

func (unknown) Kernel() string { return "kerneltest.unknown" }

func (unknown) Infer([]kernels.View) (out, aux []kernels.View, err error) { return nil, nil, nil }

// checkUnknown wants a call that the backend lacks to be an error that names it.
func checkUnknown(be kernels.Backend) error {
	_, bind := be.Bind(unknown{}, kernels.Args{})
	_, workspace := be.Workspace(unknown{}, kernels.Args{})
	for _, err := range []error{bind, workspace} {
		if err == nil || !strings.Contains(err.Error(), unknown{}.Kernel()) {
			return fmt.Errorf("binding the unknown call %q, and asking for its workspace, give the errors %v and %v, want ones that name it", unknown{}.Kernel(), bind, workspace)
		}
	}
	return nil
}

// checkMemory holds arenas and copies to their contract.
func checkMemory(be kernels.Backend) (err error) {
	if _, err := be.NewArena(-1); err == nil {
		return errors.New("an arena of -1 bytes is accepted")
	}
	const size = 1000
	arena, err := be.NewArena(size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, arena.Free()) }()
	if arena.Bytes() != size {
		return fmt.Errorf("an arena of %d bytes says it has %d", size, arena.Bytes())
	}
	all := make([]int8, size)
	if err := be.Download(all, arena.View(0, kernels.I8, size)); err != nil {
		return err
	}
	if err := be.Sync(); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(b int8) bool { return b != 0 }) {
		return errors.New("a new arena is not zero")
	}
	return errors.Join(
		roundTrip(be, arena.View(8, kernels.F32, 2, 3), []float32{1, -2, 3.5, 0, 5, 6}),
		roundTrip(be, arena.View(40, kernels.F64, 3), []float64{1, -2, 1e300}),
		roundTrip(be, arena.View(68, kernels.I32, 1, 2), []int32{-7, 1 << 30}),
		roundTrip(be, arena.View(78, kernels.BF16, 3), []uint16{1, 0xffff, 0x3f80}),
		roundTrip(be, arena.View(85, kernels.I8, 2), []int8{-128, 127}),
		roundTrip(be, arena.View(100, kernels.F32), []float32{4}),
		roundTrip(be, arena.View(size, kernels.F32, 0), []float32{}),
	)
}

// roundTrip uploads and downloads values, and wants copies of a wrong length or type to be refused.
func roundTrip[E comparable](be kernels.Backend, v kernels.View, values []E) error {
	if err := be.Upload(v, values); err != nil {
		return err
	}
	got := make([]E, len(values))
	if err := errors.Join(be.Download(got, v), be.Sync()); err != nil {
		return err
	}
	if !slices.Equal(got, values) {
		return fmt.Errorf("%v: uploaded %v, downloaded %v", v, values, got)
	}
	longer := make([]E, len(values)+1)
	if be.Upload(v, longer) == nil || be.Download(longer, v) == nil {
		return fmt.Errorf("%v: a copy of %d elements is accepted", v, len(longer))
	}
	if be.Upload(v, make([]string, len(values))) == nil || be.Download(make([]string, len(values)), v) == nil {
		return fmt.Errorf("%v: a copy of strings is accepted", v)
	}
	return nil
}
