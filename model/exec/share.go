package exec

import (
	"fmt"
	"slices"

	"prenorm/kernels"
)

// sharing finds values that can lie in one memory.
type sharing struct {
	*Plan
	with map[*buffer]*buffer // a buffer -> the one whose memory it takes
	last map[*buffer]int     // the last step that uses what lies in a buffer
}

// share lets the sum of an accumulating product lie where its base was, which such a product demands, and lets the output of a call that
// allows it lie where an input was that is not needed any more.
func (p *Plan) share() error {
	m := sharing{Plan: p, with: map[*buffer]*buffer{}, last: map[*buffer]int{}}
	for i, s := range p.steps {
		for _, b := range slices.Concat(s.reads(), s.writes()) {
			m.last[b] = i
		}
	}
	for i, s := range p.steps {
		if s.base != nil && s.base != s.out[0] {
			if err := m.accumulate(i, s); err != nil {
				return fmt.Errorf("%s: %w", s.path, err)
			}
		}
	}
	for i, s := range p.steps {
		m.inPlace(i, s)
	}
	m.apply()
	return nil
}

// root is the buffer in whose memory b lies.
func (m sharing) root(b *buffer) *buffer {
	for m.with[b] != nil {
		b = m.with[b]
	}
	return b
}

// accumulate gives a product's output the memory of its base, or the base the memory of an output that must lie where it does.
func (m sharing) accumulate(i int, s step) error {
	base, out := m.root(s.base), m.root(s.out[0])
	if base.kind != temporary || m.last[base] != i || !alike(base, out) {
		return fmt.Errorf("the sum %v cannot take the memory of %v, which is needed after it", out.view, base.view)
	}
	if out.kind != temporary {
		m.with[base] = out
		return nil
	}
	m.with[out], m.last[base] = base, m.last[out]
	return nil
}

// inPlace gives outputs the memory of inputs that die at this step.
func (m sharing) inPlace(i int, s step) {
	for o, allowed := range places(s.call) {
		for _, k := range allowed {
			in, out := m.root(s.in[k]), m.root(s.out[o])
			if in == out || in.kind != temporary || out.kind != temporary || m.last[in] != i || !alike(in, out) || m.readBesides(s, in, allowed) {
				continue
			}
			m.with[out], m.last[in] = in, m.last[out]
			break
		}
	}
}

// readBesides says whether the step reads a buffer through an operand that is not among the allowed ones.
func (m sharing) readBesides(s step, b *buffer, allowed []int) bool {
	for k, in := range slices.Concat(s.in, s.saved) {
		if m.root(in) == b && !slices.Contains(allowed, k) {
			return true
		}
	}
	return false
}

// places are the inputs whose memory each output of a call may take.
func places(c kernels.Call) [][]int {
	switch c := c.(type) {
	case kernels.InPlacer:
		return [][]int{c.InPlace()}
	case kernels.AddRMSNorm, kernels.AddLayerNorm:
		return [][]int{nil, {0}} // the sum may lie where its first operand was
	}
	return nil
}

func alike(a, b *buffer) bool {
	return a.view.DType == b.view.DType && slices.Equal(a.view.Shape, b.view.Shape)
}

// apply puts the shared buffers into the steps.
func (m sharing) apply() {
	roots := func(list []*buffer) []*buffer {
		out := make([]*buffer, len(list))
		for i, b := range list {
			out[i] = m.root(b)
		}
		return out
	}
	for i, s := range m.steps {
		s.out, s.aux, s.in, s.saved = roots(s.out), roots(s.aux), roots(s.in), roots(s.saved)
		if s.base != nil {
			s.base = m.root(s.base)
		}
		m.steps[i] = s
	}
	for n, b := range m.nodes {
		m.nodes[n] = m.root(b)
	}
	m.buffers = slices.DeleteFunc(m.buffers, func(b *buffer) bool { return m.with[b] != nil })
}
