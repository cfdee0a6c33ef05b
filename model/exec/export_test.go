package exec

import (
	"fmt"
	"slices"

	"prenorm/kernels"
)

// used are the step's buffers in the arena.
func (s step) used() (read, written []*buffer) {
	inArena := func(list []*buffer) []*buffer {
		return slices.DeleteFunc(list, func(b *buffer) bool { return b.kind == external })
	}
	written = slices.Concat(s.out, s.aux)
	if s.work != nil {
		written = append(written, s.work)
	}
	return inArena(s.reads()), inArena(written)
}

// PeakLive is the largest number of bytes that live at one step, every buffer rounded up to a cache line: no placement can be smaller. It
// finds lifetimes by itself, from the steps.
func (p *Plan) PeakLive() int {
	live := make([]int, len(p.steps)+1)
	for _, b := range p.buffers {
		first, last := 0, len(p.steps)
		if b.kind == temporary {
			first, last = last, -1
			for i, s := range p.steps {
				if read, written := s.used(); slices.Contains(read, b) || slices.Contains(written, b) {
					first, last = min(first, i), i
				}
			}
		}
		for i := first; i <= last && b.kind != external; i++ {
			live[i] += align(b.bytes)
		}
	}
	return slices.Max(live)
}

// CheckPlacement plays the program with a note on every cache line of the arena of whose value it holds. What a step reads must still be
// there, and what it writes must not be shared with what it reads or writes besides, or with what lives for the whole program.
func (p *Plan) CheckPlacement() error {
	owner := make([]*buffer, p.bytes/alignment)
	lines := func(b *buffer) []*buffer { return owner[b.offset/alignment : (b.offset+align(b.bytes))/alignment] }
	var residents []*buffer
	for _, b := range p.buffers {
		if b.kind != external && (b.offset%alignment != 0 || b.offset < 0 || b.offset+b.bytes > p.bytes) {
			return fmt.Errorf("buffer %v at %d of an arena of %d bytes", b.view, b.offset, p.bytes)
		}
		if b.kind != resident {
			continue
		}
		residents = append(residents, b)
		for i := range lines(b) {
			if o := lines(b)[i]; o != nil {
				return fmt.Errorf("buffers %v and %v share memory", b.view, o.view)
			}
			lines(b)[i] = b
		}
	}
	holds := func(b *buffer) bool { return !slices.ContainsFunc(lines(b), func(o *buffer) bool { return o != b }) }
	for i, s := range p.steps {
		read, written := s.used()
		for _, b := range read {
			if !holds(b) {
				return fmt.Errorf("step %d %s reads %v at %d, which is not there any more", i, s.path, b.view, b.offset)
			}
		}
		for _, b := range written {
			for k := range lines(b) {
				lines(b)[k] = b
			}
		}
		for _, b := range slices.Concat(read, written, residents) {
			if !holds(b) {
				return fmt.Errorf("step %d %s: the memory of %v at %d was written over", i, s.path, b.view, b.offset)
			}
		}
	}
	return nil
}

// Paths are the names of the launches in order.
func (p *Plan) Paths() []string {
	paths := make([]string, len(p.steps))
	for i, s := range p.steps {
		paths[i] = s.path
	}
	return paths
}

// InPlace counts the steps that write over one of their inputs.
func (p *Plan) InPlace() int {
	n := 0
	for _, s := range p.steps {
		if slices.ContainsFunc(s.out, func(b *buffer) bool { return b.kind == temporary && slices.Contains(s.in, b) }) {
			n++
		}
	}
	return n
}

// Poison fills the arena with bits that are NaN as a number and -1 as an id, except where inputs and constants lie.
func (g *Program) Poison() {
	all := g.arena.View(0, kernels.I8, g.arena.Bytes()).I8()
	keep := make([]bool, len(all))
	for _, b := range g.plan.buffers {
		if b.kind == resident && (b.name != "" || b.data != nil) {
			for i := range b.bytes {
				keep[b.offset+i] = true
			}
		}
	}
	for i := range all {
		if !keep[i] {
			all[i] = -1
		}
	}
}

// Joined are the paths of the steps of each launch that has several.
func (p *Plan) Joined() []string {
	var all []string
	for _, g := range p.groups {
		if g.end-g.from > 1 {
			all = append(all, p.pathsOf(g))
		}
	}
	return all
}
