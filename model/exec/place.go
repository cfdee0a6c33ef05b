package exec

import (
	"slices"
	"sort"
)

// alignment of every buffer in the arena: a cache line.
const alignment = 64

func align(n int) int { return (n + alignment - 1) &^ (alignment - 1) }

// lifetimes finds the first and last step of every buffer. Steps that run side by side are one.
func (p *Plan) lifetimes() {
	for _, b := range p.buffers {
		b.start, b.end = len(p.steps), -1
	}
	use := func(g group, lists ...[]*buffer) {
		for _, list := range lists {
			for _, b := range list {
				b.start, b.end = min(b.start, g.from), max(b.end, g.end-1)
			}
		}
	}
	for _, g := range p.groups {
		for _, s := range p.steps[g.from:g.end] {
			use(g, s.out, s.aux, s.in, s.saved)
			if s.work != nil {
				use(g, []*buffer{s.work})
			}
		}
	}
	for _, b := range p.buffers {
		if b.kind == resident {
			b.start, b.end = 0, len(p.steps)
		}
	}
}

// place gives every buffer of the arena an offset, so that buffers which live at the same time do not overlap, and returns the arena's
// size. Buffers choose one after the other, each the lowest gap that fits; which order wastes least depends on the program, so several are
// tried: largest first (greedy by size: Pisarchyk & Lee, arXiv 2001.03288), most bytes times steps first, and in the order of the program,
// each then mended by letting the buffer that reaches highest choose first. An arena of no more than lives at one time cannot be bettered, and
// most programs come to one at the first or second try: then no other is made, which would not be taken.
func place(buffers []*buffer) int {
	var todo []*buffer
	for _, b := range buffers {
		if b.kind != external && b.end >= b.start {
			todo = append(todo, b)
		}
	}
	steps := func(b *buffer) int { return b.bytes * (b.end - b.start + 1) }
	best, least := placement{top: -1}, mostAlive(todo)
	for _, before := range []func(a, b *buffer) bool{
		func(a, b *buffer) bool { return a.bytes > b.bytes },
		func(a, b *buffer) bool { return steps(a) > steps(b) },
		func(a, b *buffer) bool { return a.start < b.start || a.start == b.start && a.bytes > b.bytes },
	} {
		order := slices.Clone(todo)
		sort.SliceStable(order, func(i, j int) bool { return before(order[i], order[j]) })
		for range mendings {
			top := placeInOrder(order)
			if best.keep(top, todo); top == least {
				return best.take(todo)
			}
			highest := slices.IndexFunc(order, func(b *buffer) bool { return align(b.offset+b.bytes) == top })
			if highest <= 0 {
				break
			}
			first := order[highest]
			copy(order[1:], order[:highest])
			order[0] = first
		}
	}
	return best.take(todo)
}

// mostAlive is the most bytes of buffers that live at one step: no arena of theirs is smaller.
func mostAlive(buffers []*buffer) int {
	last := -1
	for _, b := range buffers {
		last = max(last, b.end)
	}
	change := make([]int, last+2) // from the step before
	for _, b := range buffers {
		change[b.start] += align(b.bytes)
		change[b.end+1] -= align(b.bytes)
	}
	most, alive := 0, 0
	for _, bytes := range change {
		alive += bytes
		most = max(most, alive)
	}
	return most
}

// mendings is how often an order is mended. Few do: what is left over after them is little.
const mendings = 16

// placement is the best found so far.
type placement struct {
	top     int // -1 before the first
	offsets []int
}

func (p *placement) keep(top int, buffers []*buffer) {
	if p.top >= 0 && top >= p.top {
		return
	}
	p.top, p.offsets = top, make([]int, len(buffers))
	for i, b := range buffers {
		p.offsets[i] = b.offset
	}
}

// take gives the buffers their offsets, and returns the arena's size.
func (p *placement) take(buffers []*buffer) int {
	for i, b := range buffers {
		b.offset = p.offsets[i]
	}
	return max(p.top, 0)
}

// placeInOrder gives each buffer in turn the lowest gap among those before it, and returns the arena's size.
func placeInOrder(order []*buffer) int {
	top := 0
	placed := make([]*buffer, 0, len(order)) // ascending by offset
	for _, b := range order {
		b.offset = lowestGap(placed, b)
		top = max(top, align(b.offset+b.bytes))
		at := sort.Search(len(placed), func(i int) bool { return placed[i].offset > b.offset })
		placed = slices.Insert(placed, at, b)
	}
	return top
}

func lowestGap(placed []*buffer, b *buffer) int {
	offset := 0
	for _, other := range placed {
		if other.end < b.start || other.start > b.end {
			continue
		}
		if other.offset >= offset+b.bytes {
			break
		}
		offset = max(offset, align(other.offset+other.bytes))
	}
	return offset
}
