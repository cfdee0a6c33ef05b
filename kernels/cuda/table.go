//go:build gpu

package cuda

import (
	"fmt"
	"slices"

	"prenorm/kernels"
)

// entry is what the table holds for one kernel.
type entry struct {
	plan func(c kernels.Call, a kernels.Args, s *scratch) (any, error)
	bind func(b *builder, c kernels.Call, a kernels.Args, plan any)
}

// table holds the kernels by name. The init function of each family's file enters its own.
var table = map[string]entry{}

// enter adds a call to the table. plan takes the workspace and what it returns is handed to bind; it is run without memory to measure, and
// once more to bind. bind adds the launches.
func enter[C kernels.Call, P any](plan func(c C, a kernels.Args, s *scratch) (P, error), bind func(b *builder, c C, a kernels.Args, p P)) {
	var zero C
	if _, taken := table[zero.Kernel()]; taken {
		panic("cuda: kernel entered twice: " + zero.Kernel())
	}
	table[zero.Kernel()] = entry{
		plan: func(call kernels.Call, a kernels.Args, s *scratch) (any, error) {
			c, ok := call.(C)
			if !ok {
				return nil, fmt.Errorf("no kernel %q as %T (it is a %T)", call.Kernel(), call, c)
			}
			return plan(c, a, s)
		},
		bind: func(b *builder, c kernels.Call, a kernels.Args, p any) { bind(b, c.(C), a, p.(P)) },
	}
}

// narrows are the calls that take bf16 views where [kernels.TypesOf] allows them.
var narrows = map[string]bool{}

// narrowed adds calls to narrows.
func narrowed(calls ...kernels.Call) {
	for _, c := range calls {
		narrows[c.Kernel()] = true
	}
}

// none is the plan of a call that wants no workspace.
type none struct{}

// enterPlain adds a call that wants no workspace and has no rules beyond its shapes.
func enterPlain[C kernels.Call](bind func(b *builder, c C, a kernels.Args)) {
	enter(func(C, kernels.Args, *scratch) (none, error) { return none{}, nil },
		func(b *builder, c C, a kernels.Args, _ none) { bind(b, c, a) })
}

// bad is the address at which kernels of this call report an index that is out of range.
func (b *builder) bad(what string, limit int, rest string) uintptr {
	return b.fault(faultKind{kernel: b.program.call.Kernel(), what: what, limit: limit, rest: rest})
}

// fault is the address at which kernels of this call report a kind of fault.
func (b *builder) fault(k faultKind) uintptr {
	var at uintptr
	err := b.device.do(func() (err error) {
		at, err = b.device.faults.word(k, b.device.compute)
		return err
	})
	if b.err == nil {
		b.err = err
	}
	return at
}

// lookup finds the call's entry and checks shapes and types.
func lookup(c kernels.Call, a kernels.Args) (entry, error) {
	return kernels.Find("cuda", table, narrows, c, a)
}

// checkMemory wants each view to lie on the device, aligned to its elements, and no two to share memory where the call does not allow it.
func checkMemory(c kernels.Call, a kernels.Args) error {
	for _, v := range slices.Concat(a.Out, a.Aux, a.In, a.Saved) {
		if v.Bytes() > 0 && v.Dev == 0 {
			return fmt.Errorf("cuda: %s: view %v has no device memory", c.Kernel(), v)
		}
		if v.Dev%uintptr(v.DType.Size()) != 0 {
			return fmt.Errorf("cuda: %s: view %v at %#x is not aligned to its elements", c.Kernel(), v, v.Dev)
		}
	}
	if err := kernels.CheckAliasing(c, a); err != nil {
		return fmt.Errorf("cuda: %w", err)
	}
	return nil
}
