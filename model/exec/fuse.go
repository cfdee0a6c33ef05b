package exec

import (
	"slices"

	"prenorm/kernels"
)

// fuseBias puts the bias of a linear layer into its product.
func fuseBias(e *editor, at int) {
	sum := e.slots[at].main
	if _, ok := sum.call.(kernels.AddBias); !ok {
		return
	}
	first, product, ok := e.maker(at, 0)
	if !ok {
		return
	}
	if c, ok := product.call.(kernels.MatMul); ok && c == (kernels.MatMul{TransA: c.TransA, TransB: c.TransB}) {
		c.Bias = true
		e.apply(fusion{first, at, step{path: product.path, call: c, in: append(slices.Clone(product.in), sum.in[1]), out: sum.out}})
	}
}

// addend is a product that a step adds to something else.
type addend struct {
	slot  int
	step  *step
	call  kernels.MatMul
	other *buffer
}

// addends finds the products that the step of a slot adds, the later one first: what it is added to is there when it is made.
func (e *editor) addends(at int) []addend {
	var found []addend
	sum := e.slots[at].main
	if _, ok := sum.call.(kernels.Add); !ok {
		return nil
	}
	for k := range sum.in {
		slot, s, ok := e.maker(at, k)
		if !ok {
			continue
		}
		if c, ok := s.call.(kernels.MatMul); ok && !c.Accumulate && !c.Residual {
			found = append(found, addend{slot, s, c, sum.in[1-k]})
		}
	}
	slices.SortFunc(found, func(a, b addend) int { return b.slot - a.slot })
	return found
}

// fuseAccumulate adds a product in place to a value that nothing needs any more, or to memory of the caller.
func fuseAccumulate(e *editor, at int) {
	for _, a := range e.addends(at) {
		out := e.slots[at].main.out
		if a.other != out[0] && !e.dies(a.other, at) || slices.Contains(a.step.in, a.other) {
			continue
		}
		a.call.Accumulate = true
		if e.apply(fusion{a.slot, at, step{path: a.step.path, call: a.call, in: a.step.in, out: out, base: a.other}}) {
			e.rescue(a.other)
			return
		}
	}
}

// dies says whether a value that a step made is not read after a slot. Whether it is watched makes no difference, see [editor.rescue].
func (e *editor) dies(b *buffer, at int) bool {
	_, made := e.writer[b]
	readers := e.readers[b]
	return made && b.kind != external && readers[len(readers)-1] <= at
}

// rescue copies a watched value before a product is added to it in place.
func (e *editor) rescue(b *buffer) {
	if !e.watches(b) {
		return
	}
	at := e.readers[b][len(e.readers[b])-1]
	kept := e.newBuffer(b.kind, b.view)
	b.kind = temporary
	for n, value := range e.nodes {
		if value == b {
			e.nodes[n] = kept
		}
	}
	e.relook(b, kept)
	s := e.slots[at]
	s.watched = append(s.watched, step{path: "keep " + s.main.path, call: kernels.Scale{Factor: 1}, in: []*buffer{b}, out: []*buffer{kept}})
	e.set(at, s)
}

// fuseResidual adds a product to a value that is needed further on.
func fuseResidual(e *editor, at int) {
	for _, a := range e.addends(at) {
		out := e.slots[at].main.out
		if a.other == out[0] {
			continue
		}
		a.call.Residual = true
		if e.apply(fusion{a.slot, at, step{path: a.step.path, call: a.call, in: append(slices.Clone(a.step.in), a.other), out: out}}) {
			return
		}
	}
}

// fuseAddNorm makes a sum and the norm of it in one step. Other readers of the sum find it as before.
func fuseAddNorm(e *editor, at int) {
	sum := e.slots[at].main
	if _, ok := sum.call.(kernels.Add); !ok {
		return
	}
	z := sum.out[0]
	for _, i := range e.readers[z] {
		norm := e.slots[i].main
		if norm.in[0] != z {
			continue
		}
		var call kernels.Call
		switch c := norm.call.(type) {
		case kernels.RMSNorm:
			call = kernels.AddRMSNorm(c)
		case kernels.LayerNorm:
			call = kernels.AddLayerNorm(c)
		default:
			continue
		}
		in := append(slices.Clone(sum.in), norm.in[1:]...)
		if e.apply(fusion{at, i, step{path: norm.path, call: call, in: in, out: []*buffer{norm.out[0], z}, aux: norm.aux}}) {
			return
		}
	}
}

// fuseNormGradAdd adds the gradient that came past a norm to the norm's own.
func fuseNormGradAdd(e *editor, at int) {
	sum := e.slots[at].main
	if _, ok := sum.call.(kernels.Add); !ok {
		return
	}
	for k := range sum.in {
		slot, grad, ok := e.maker(at, k)
		if !ok {
			continue
		}
		var call kernels.Call
		switch c := grad.call.(type) {
		case kernels.RMSNormGrad:
			call = kernels.AddRMSNormGrad(c)
		case kernels.LayerNormGrad:
			call = kernels.AddLayerNormGrad(c)
		default:
			continue
		}
		in, out := append(slices.Clone(grad.in), sum.in[1-k]), append([]*buffer{sum.out[0]}, grad.out[1:]...)
		if e.apply(fusion{slot, at, step{path: grad.path, call: call, in: in, out: out, saved: grad.saved}}) {
			return
		}
	}
}
