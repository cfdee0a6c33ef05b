package exec

import (
	"sort"
)

// alignment of every buffer in the arena: a cache line.
const alignment = 64

func align(n int) int { return (n + alignment - 1) &^ (alignment - 1) }

// place gives every buffer of the arena an offset, so that buffers which live at the same time do not overlap, and returns the arena's
// size. Larger buffers choose first; each takes the lowest gap that fits (greedy by size: Pisarchyk & Lee, arXiv 2001.03288).
func place(buffers []*buffer) int {
	var todo []*buffer
	for _, b := range buffers {
		if b.kind != external && b.end >= b.start {
			todo = append(todo, b)
		}
	}
	sort.SliceStable(todo, func(i, j int) bool { return todo[i].bytes > todo[j].bytes })
	top := 0
	placed := make([]*buffer, 0, len(todo)) // ascending by offset
	for _, b := range todo {
		b.offset = lowestGap(placed, b)
		top = max(top, align(b.offset+b.bytes))
		at := sort.Search(len(placed), func(i int) bool { return placed[i].offset > b.offset })
		placed = append(placed, nil)
		copy(placed[at+1:], placed[at:])
		placed[at] = b
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
