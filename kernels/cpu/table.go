package cpu

import (
	"fmt"
	"slices"

	"prenorm/kernels"
)

// entry is what the table holds for one kernel.
type entry struct {
	plan func(c kernels.Call, a kernels.Args, s *scratch) (any, error)
	bind func(b *Backend, c kernels.Call, a kernels.Args, plan any) kernels.Launch
	// loops are all that a launch runs, one after the other; nil = it does something else besides.
	loops func(b *Backend, c kernels.Call, a kernels.Args, plan any) []*loop
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

// enterLoops is enter for a call whose launch runs loops one after the other and does nothing else, so that it can be part of a joint launch.
func enterLoops[C kernels.Call, P any](plan func(c C, a kernels.Args, s *scratch) (P, error), loops func(b *Backend, c C, a kernels.Args, p P) []*loop) {
	enter(plan, func(b *Backend, c C, a kernels.Args, p P) kernels.Launch { return b.runAll(loops(b, c, a, p)) })
	var zero C
	e := table[zero.Kernel()]
	e.loops = func(b *Backend, c kernels.Call, a kernels.Args, p any) []*loop { return loops(b, c.(C), a, p.(P)) }
	table[zero.Kernel()] = e
}

// narrows are the calls that take bf16 views where [kernels.TypesOf] allows them.
var narrows = map[string]bool{kernels.Convert{}.Kernel(): true, kernels.CacheWrite{}.Kernel(): true, kernels.CachedAttention{}.Kernel(): true}

// none is the plan of a call that wants no workspace.
type none struct{}

// enterPlain adds a call that wants no workspace and has no rules beyond its shapes.
func enterPlain[C kernels.Call](bind func(b *Backend, c C, a kernels.Args) kernels.Launch) {
	enter(func(C, kernels.Args, *scratch) (none, error) { return none{}, nil },
		func(b *Backend, c C, a kernels.Args, _ none) kernels.Launch { return bind(b, c, a) })
}

// lookup finds the call's entry and checks shapes and types.
func lookup(c kernels.Call, a kernels.Args) (entry, error) {
	return kernels.Find("cpu", table, narrows, c, a)
}

// checkMemory wants each view to have its memory, and no two to share any where the call does not allow it.
func checkMemory(c kernels.Call, a kernels.Args) error {
	for _, v := range slices.Concat(a.Out, a.Aux, a.In, a.Saved) {
		if len(v.Host) < v.Bytes() {
			return fmt.Errorf("cpu: %s: view %v has %d bytes of host memory, needs %d", c.Kernel(), v, len(v.Host), v.Bytes())
		}
	}
	if err := kernels.CheckAliasing(c, a); err != nil {
		return fmt.Errorf("cpu: %w", err)
	}
	return nil
}
