package exec

import (
	"slices"

	"prenorm/kernels"
)

// editor is the list of steps while passes change it. Every value has a buffer of its own then, so that a step may be moved past any other
// that neither makes nor changes what it reads, and does not read what it makes.
type editor struct {
	*Plan
	slots   []slot
	readers map[*buffer][]int // slots that read a buffer, ascending
	writer  map[*buffer]int   // slot that makes a value
	looks   []step            // what only [Spec.Observed] needs
	looked  map[*buffer]bool  // values that they read and do not make
}

// slot is a place in the list.
type slot struct {
	watched []step // steps for values that are watched, run before the main step
	main    *step  // nil where it was fused away
}

func (s slot) steps() []step {
	if s.main == nil {
		return s.watched
	}
	return append(slices.Clone(s.watched), *s.main)
}

func newEditor(p *Plan, looks []step) *editor {
	e := &editor{Plan: p, slots: make([]slot, len(p.steps)), readers: map[*buffer][]int{}, writer: map[*buffer]int{}, looks: looks, looked: map[*buffer]bool{}}
	for i := range p.steps {
		e.set(i, slot{main: &p.steps[i]})
	}
	for _, s := range looks {
		for _, b := range s.reads() {
			e.looked[b] = true
		}
	}
	return e
}

// watches says whether somebody looks at a value that no step may need.
func (e *editor) watches(b *buffer) bool { return b.kind == resident || e.looked[b] }

// set changes what is in a slot.
func (e *editor) set(at int, s slot) {
	for _, old := range e.slots[at].steps() {
		for _, b := range old.reads() {
			if i, there := slices.BinarySearch(e.readers[b], at); there {
				e.readers[b] = slices.Delete(e.readers[b], i, i+1)
			}
		}
	}
	e.slots[at] = s
	for _, s := range s.steps() {
		for _, b := range s.reads() {
			if i, there := slices.BinarySearch(e.readers[b], at); !there {
				e.readers[b] = slices.Insert(e.readers[b], i, at)
			}
		}
		for _, b := range slices.Concat(s.out, s.aux) {
			e.writer[b] = at
		}
	}
}

// maker finds the step whose first output is input k of the step at a slot, where nothing else reads that value.
func (e *editor) maker(at, k int) (slot int, s *step, ok bool) {
	reader := e.slots[at].main
	b := reader.in[k]
	slot, made := e.writer[b]
	others := slices.Delete(reader.reads(), k, k+1)
	if !made || slot >= at || b.kind == external || len(e.readers[b]) != 1 || slices.Contains(others, b) {
		return 0, nil, false
	}
	s = e.slots[slot].main
	return slot, s, s != nil && s.out[0] == b
}

// fusion is one step in the place of two, of which the second reads the first output of the first. It has the path of one of them.
type fusion struct {
	first, last int // their slots
	step        step
}

// apply fuses two steps, where the order of all others allows that and the backend has the call. A value between them that is watched is
// made by the first step all the same, so that watching it changes nothing else.
func (e *editor) apply(f fusion) bool {
	at, ok := e.place(f)
	if !ok || !e.accepts(f.step) {
		return false
	}
	first, last := e.slots[f.first], e.slots[f.last]
	f.step.fused = slices.Concat(first.main.fused, last.main.fused, []string{first.main.path, last.main.path})
	f.step.fused = slices.DeleteFunc(f.step.fused, func(path string) bool { return path == f.step.path })
	fused := slot{slices.Concat(first.watched, last.watched), &f.step}
	if between := first.main.out[0]; e.watches(between) && !slices.Contains(f.step.out, between) {
		alone := *first.main
		alone.out, alone.aux = slices.Clone(alone.out), nil
		for i, b := range alone.out[1:] {
			alone.out[1+i] = e.newBuffer(temporary, b.view)
		}
		fused.watched = append(fused.watched, alone)
	}
	e.set(f.first, slot{})
	e.set(f.last, slot{})
	e.set(at, fused)
	return true
}

// place finds the slot of a fused step: that of the first step, where memory is free again sooner, else that of the last.
func (e *editor) place(f fusion) (at int, ok bool) {
	first, last := e.slots[f.first].main, e.slots[f.last].main
	made := first.writes()
	needs := slices.DeleteFunc(last.reads(), func(b *buffer) bool { return slices.Contains(made, b) })
	makes := append(last.writes(), f.step.writes()...)
	makes = slices.DeleteFunc(makes, func(b *buffer) bool { return slices.Contains(made, b) })
	up, down := true, true
	for k := f.first + 1; k < f.last; k++ {
		for _, s := range e.slots[k].steps() {
			reads, writes := s.reads(), s.writes()
			up = up && !meet(writes, needs) && !meet(reads, makes)
			down = down && !meet(writes, first.reads()) && !meet(reads, made)
		}
	}
	if up {
		return f.first, true
	}
	return f.last, down
}

func meet(a, b []*buffer) bool {
	return slices.ContainsFunc(a, func(x *buffer) bool { return slices.Contains(b, x) })
}

// accepts asks the backend for a step, in the widest and in the narrowest types that the policy may come to choose.
func (e *editor) accepts(s step) bool {
	_, err := e.be.Workspace(s.call, e.prospect(s, kernels.F32))
	if err == nil && e.narrows() {
		_, err = e.be.Workspace(s.call, e.prospect(s, kernels.BF16))
	}
	return err == nil
}
