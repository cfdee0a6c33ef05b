package exec

import (
	"slices"

	G "gorgonia.org/gorgonia"
)

// needed are the nodes that the program has to compute even if nothing is observed.
func (p *Plan) needed() map[*G.Node]bool {
	observed := make(map[*G.Node]bool, len(p.spec.Observed))
	for _, o := range p.spec.Observed {
		observed[o.Node] = true
	}
	seen := map[*G.Node]bool{}
	var visit func(n *G.Node)
	visit = func(n *G.Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		for _, c := range children(n) {
			visit(c)
		}
	}
	for _, list := range [][]Named{p.spec.Outputs, p.spec.Into} {
		for _, o := range list {
			if !observed[o.Node] {
				visit(o.Node)
			}
		}
	}
	return seen
}

// relook has the looks read a value elsewhere.
func (e *editor) relook(b, kept *buffer) {
	if !e.looked[b] {
		return
	}
	delete(e.looked, b)
	e.looked[kept] = true
	for i, s := range e.looks {
		in := slices.Clone(s.in)
		for k := range in {
			if in[k] == b {
				in[k] = kept
			}
		}
		e.looks[i].in = in
	}
}

// steps are the steps of all slots in order, with each look behind the slot that makes the last of its operands: values are looked at while they
// are in memory and need not be kept. Nothing between those slots writes over an operand, see [editor.rescue].
func (e *editor) steps() []step {
	behind := make([][]step, len(e.slots)+1) // behind[0] is before all slots
	for _, s := range e.looks {
		at := -1
		for _, b := range s.reads() {
			if w, made := e.writer[b]; made {
				at = max(at, w)
			}
		}
		for _, b := range s.writes() {
			e.writer[b] = at
		}
		behind[at+1] = append(behind[at+1], s)
	}
	list := behind[0]
	for i, s := range e.slots {
		list = append(append(list, s.steps()...), behind[i+1]...)
	}
	return list
}
