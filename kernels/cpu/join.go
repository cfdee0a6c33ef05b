package cpu

import (
	"fmt"

	"prenorm/kernels"
)

// joinRows is the number of rows up to which products gain by running side by side: each takes little longer than the join that it is spared.
const joinRows = 64

// Joins implements [kernels.Joiner].
func (b *Backend) Joins(c kernels.Call, a kernels.Args) bool {
	product, ok := c.(interface {
		Dims(in []kernels.View) (m, n, k int)
	})
	if !ok || table[c.Kernel()].loops == nil {
		return false
	}
	m, _, _ := product.Dims(a.In)
	return m <= joinRows
}

// BindJoint implements [kernels.Joiner]: the first loops of all calls are one loop for the pool, then the second ones, and so on, so that workers
// wait for each other once and not once a call, and none is idle for the last task of each.
func (b *Backend) BindJoint(calls []kernels.BoundCall) (kernels.Launch, error) {
	if err := kernels.CheckIndependent(calls); err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	var stages [][]*loop
	for _, c := range calls {
		e, p, err := b.prepare(c.Call, c.Args)
		if err != nil {
			return nil, err
		}
		if e.loops == nil {
			return nil, fmt.Errorf("cpu: %s cannot be part of a joint launch (ask Joins)", c.Call.Kernel())
		}
		for i, l := range e.loops(b, c.Call, c.Args, p) {
			if i == len(stages) {
				stages = append(stages, nil)
			}
			stages[i] = append(stages[i], l)
		}
	}
	all := make([]*loop, len(stages))
	for i, loops := range stages {
		all[i] = joint(loops)
	}
	return b.runAll(all), nil
}

// joint is a loop over the tasks of several, in their order. It is worth helpers if one of them is.
func joint(loops []*loop) *loop {
	if len(loops) == 1 {
		return loops[0]
	}
	ends, n, inline := make([]int, len(loops)), 0, true
	for i, l := range loops {
		n += int(l.n)
		ends[i], inline = n, inline && l.inline
	}
	all := newLoop(n, 0, func(task int) {
		i, first := 0, 0
		for task >= ends[i] {
			first = ends[i]
			i++
		}
		loops[i].fn(task - first)
	})
	all.inline = inline
	return all
}
