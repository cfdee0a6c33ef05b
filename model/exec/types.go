package exec

import (
	"slices"

	"prenorm/kernels"
)

// typing gives buffers their types by the [policy], in the order of the steps.
type typing struct {
	*Plan
	done   []step
	wide   map[*buffer]bool    // read by a letter that would have it float32
	read   map[*buffer]bool    // read at all
	copies map[*buffer]*buffer // a buffer -> what it was converted to
	origin map[*buffer]string  // path of the step that made a buffer
}

// chooseTypes gives every value the element type that the precision wants, and inserts conversions where a call wants another type than the
// value has. A value is converted once, before its first reader that wants it so, and all later ones share the copy. That of a parameter
// costs 6 bytes an element and run, 4 read and 2 written; it serves forward and backward, and in each of them at least one product would
// read 4 bytes where it now reads 2.
//
// Programs in float64 have no float32 values, so nothing changes in them.
func (p *Plan) chooseTypes() {
	if !p.narrows() {
		return
	}
	t := typing{Plan: p, wide: map[*buffer]bool{}, read: map[*buffer]bool{}, copies: map[*buffer]*buffer{}, origin: map[*buffer]string{}}
	for _, s := range p.steps {
		if s.look { // it takes values as they are
			continue
		}
		for i, b := range s.in {
			l := letter(ruleOf(s.call).in, i)
			t.read[b] = true
			t.wide[b] = t.wide[b] || l == 'w' || l == 's'
		}
		if s.base != nil {
			t.wide[s.base] = true
		}
	}
	for _, s := range p.steps {
		t.step(s)
	}
	p.steps = t.done
}

// step types the outputs of a step whose inputs have their types, and adds it with the conversions around it.
func (t *typing) step(s step) {
	r, group := ruleOf(s.call), t.group(s)
	s.in = slices.Clone(s.in)
	for i, b := range s.in {
		switch letter(r.in, i) {
		case 'w':
			s.in[i] = t.as(b, kernels.F32)
		case 'n':
			s.in[i] = t.as(b, kernels.BF16)
		case 'f':
			s.in[i] = t.as(b, group)
		}
	}
	if s.base != nil {
		s.base = t.as(s.base, kernels.F32) // the sum comes to lie in a copy, and nothing reads the base after it
	}
	var after []step
	s.out = slices.Clone(s.out)
	for i, b := range s.out {
		l := letter(r.out, i)
		narrow := l == 'n' || l == 'f' && group == kernels.BF16 || l == 'r' && t.read[b] && !t.wide[b] && b.kind != external
		if narrow && b.view.DType == kernels.F32 {
			s.out[i] = t.narrow(b, s.path, &after)
		}
	}
	for _, s := range append([]step{s}, after...) {
		t.done = append(t.done, s)
		for _, b := range s.writes() {
			t.origin[b] = s.path
			delete(t.copies, b) // of the value before
		}
	}
}

// group is the type of the step's views of letter f.
func (t *typing) group(s step) kernels.DType {
	if i := slices.Index([]byte(ruleOf(s.call).in), 'f'); i >= 0 {
		return s.in[i].view.DType
	}
	return kernels.F32
}

// as returns a value in a type, converting it where no step has done so.
func (t *typing) as(b *buffer, want kernels.DType) *buffer {
	have := b.view.DType
	if have == want || have != kernels.F32 && have != kernels.BF16 {
		return b
	}
	if c := t.copies[b]; c != nil {
		return c
	}
	c := t.newBuffer(temporary, kernels.Shaped(want, b.view.Shape...))
	name := b.name
	if name == "" {
		name = t.origin[b]
	}
	t.done = append(t.done, step{path: "convert " + name, call: kernels.Convert{}, in: []*buffer{b}, out: []*buffer{c}})
	t.copies[b] = c
	return c
}

// narrow makes an output bfloat16. Memory of the caller stays as it is: what it gets is widened behind the step.
func (t *typing) narrow(b *buffer, path string, after *[]step) *buffer {
	if b.kind == external {
		c := t.newBuffer(temporary, kernels.Shaped(kernels.BF16, b.view.Shape...))
		*after = append(*after, step{path: "convert " + path, call: kernels.Convert{}, in: []*buffer{c}, out: []*buffer{b}})
		return c
	}
	b.view.DType = kernels.BF16
	b.bytes = b.view.Bytes()
	return b
}
