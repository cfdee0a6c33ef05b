package cpu

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unsafe"

	"prenorm/kernels"
)

// entry is what the table holds for one kernel.
type entry struct {
	plan func(c kernels.Call, a kernels.Args, s *scratch) (any, error)
	bind func(b *Backend, c kernels.Call, a kernels.Args, plan any) kernels.Launch
}

var table = map[string]entry{}

// enter adds a call to the table. plan takes the workspace; what it returns is handed to bind. It is run without memory to measure, and once
// more to bind, and must not read elements of views.
func enter[C kernels.Call, P any](plan func(c C, a kernels.Args, s *scratch) (P, error), bind func(b *Backend, c C, a kernels.Args, p P) kernels.Launch) {
	var zero C
	if _, taken := table[zero.Kernel()]; taken {
		panic("cpu: kernel entered twice: " + zero.Kernel())
	}
	table[zero.Kernel()] = entry{
		plan: func(call kernels.Call, a kernels.Args, s *scratch) (any, error) {
			c, ok := call.(C)
			if !ok {
				return nil, fmt.Errorf("no kernel %q as %T (it is a %T)", call.Kernel(), call, c)
			}
			return plan(c, a, s)
		},
		bind: func(b *Backend, c kernels.Call, a kernels.Args, p any) kernels.Launch {
			return bind(b, c.(C), a, p.(P))
		},
	}
}

// none is the plan of a call that wants no workspace.
type none struct{}

// enterPlain adds a call that wants no workspace and has no rules beyond its shapes.
func enterPlain[C kernels.Call](bind func(b *Backend, c C, a kernels.Args) kernels.Launch) {
	enter(func(C, kernels.Args, *scratch) (none, error) { return none{}, nil },
		func(b *Backend, c C, a kernels.Args, _ none) kernels.Launch { return bind(b, c, a) })
}

// lookup finds the call's entry and checks shapes and types.
func lookup(c kernels.Call, a kernels.Args) (entry, error) {
	if c == nil {
		return entry{}, fmt.Errorf("cpu: no call given")
	}
	e, ok := table[c.Kernel()]
	if !ok {
		return entry{}, fmt.Errorf("cpu: no kernel %q (have %s)", c.Kernel(), strings.Join(slices.Sorted(maps.Keys(table)), ", "))
	}
	if err := kernels.Check(c, a); err != nil {
		return entry{}, fmt.Errorf("cpu: %w", err)
	}
	if err := savedStatistics(c, a); err != nil {
		return entry{}, fmt.Errorf("cpu: %w", err)
	}
	if _, ok := c.(kernels.Fill); ok {
		return e, nil
	}
	for _, v := range slices.Concat(a.Out, a.Aux, a.In, a.Saved) {
		if v.DType != kernels.F32 && v.DType != kernels.I32 {
			return entry{}, fmt.Errorf("cpu: %s: a view is %v, the cpu backend computes in f32 only (the ref backend serves f64)", c.Kernel(), v)
		}
	}
	return e, nil
}

// savedStatistics wants the saved views of a backward call to be those of its forward call, or none.
func savedStatistics(c kernels.Call, a kernels.Args) error {
	if len(a.Saved) == 0 {
		return nil
	}
	var forward kernels.Call
	inputs := 3
	switch c := c.(type) {
	case kernels.RMSNormGrad:
		forward, inputs = kernels.RMSNorm(c), 2
	case kernels.LayerNormGrad:
		forward = kernels.LayerNorm(c)
	case kernels.AttentionGrad:
		forward = kernels.Attention(c)
	default:
		return nil
	}
	_, want, err := forward.Infer(a.In[:inputs])
	if err != nil {
		return err
	}
	same := func(v, w kernels.View) bool { return v.DType == w.DType && slices.Equal(v.Shape, w.Shape) }
	if !slices.EqualFunc(a.Saved, want, same) {
		return fmt.Errorf("%s: saved statistics are %v, wants %v as %s saves them, or none", c.Kernel(), a.Saved, want, forward.Kernel())
	}
	return nil
}

// checkMemory wants each view to have its memory, and no two to share any where the call does not allow it.
func checkMemory(c kernels.Call, a kernels.Args) error {
	read := slices.Concat(a.In, a.Saved)
	written := slices.Concat(a.Out, a.Aux)
	for _, v := range slices.Concat(written, read) {
		if len(v.Host) < v.Bytes() {
			return fmt.Errorf("cpu: %s: view %v has %d bytes of host memory, needs %d", c.Kernel(), v, len(v.Host), v.Bytes())
		}
	}
	written = append(written, a.Work)
	for i, w := range written {
		for j, in := range read {
			whole := i < len(a.Out) && address(w) == address(in)
			if overlap(w, in) && !(whole && inPlace(c, i, j)) {
				return fmt.Errorf("cpu: %s: written view %d %v shares memory with input %d %v, which this call does not allow", c.Kernel(), i, w, j, in)
			}
		}
		for j, other := range written[:i] {
			if overlap(w, other) {
				return fmt.Errorf("cpu: %s: written views %d %v and %d %v share memory", c.Kernel(), j, other, i, w)
			}
		}
	}
	return nil
}

// inPlace says whether output i of a call may be the memory of input j.
func inPlace(c kernels.Call, i, j int) bool {
	switch c := c.(type) {
	case kernels.InPlacer:
		return i == 0 && slices.Contains(c.InPlace(), j)
	case kernels.AdamW, kernels.SGD, kernels.Fill:
		return i == j
	}
	return false
}

func address(v kernels.View) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(v.Host))) }

// overlap says whether two views have a byte in common.
func overlap(v, w kernels.View) bool {
	return v.Bytes() > 0 && w.Bytes() > 0 && len(v.Host) > 0 && len(w.Host) > 0 &&
		address(v) < address(w)+uintptr(w.Bytes()) && address(w) < address(v)+uintptr(v.Bytes())
}
