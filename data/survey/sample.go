package survey

import (
	"math"
	"slices"

	"prenorm/data/dedup"
)

// sample is the n-grams that are looked for, those of the smallest hashes. It is written by one goroutine, and read by several at other times.
type sample struct {
	bound   uint64           // hashes up to it are in it
	index   map[uint64]int32 // by hash, the place in first
	maybe   []uint64         // bits by the low bits of a hash: 0 where no such hash is in it
	first   []int32          // by place, number of the first training document that has it in names, -1 for none
	names   []string
	sources int
	in      []uint64 // by place and source, a bit each: whether the source's training text has it; each place has words of its own
	words   int      // a place in in
}

func newSample(sources int) *sample {
	return &sample{bound: math.MaxUint64, index: map[uint64]int32{}, sources: sources, words: (sources + 63) / 64}
}

// add adds n-grams of a validation document: all of its that have a hash up to bound.
func (s *sample) add(hashes []uint64, bound uint64) {
	if bound < s.bound {
		s.shrink(bound)
	}
	for _, h := range hashes {
		if h > s.bound {
			continue
		}
		if s.index[h] = 0; len(s.index) <= mostGrams {
			continue
		}
		for len(s.index) > mostGrams {
			s.shrink(s.bound >> 1)
		}
	}
}

// shrink takes out the n-grams above a new bound.
func (s *sample) shrink(bound uint64) {
	s.bound = bound
	for h := range s.index {
		if h > bound {
			delete(s.index, h)
		}
	}
}

// maybeBits is the number of bits of a hash that are looked at before the table: of at most 2^20 hashes in 2^24 places one in 16 others is let through.
const maybeBits = 24

// freeze ends adding.
func (s *sample) freeze() {
	s.first = make([]int32, len(s.index))
	s.in = make([]uint64, len(s.index)*s.words)
	s.maybe = make([]uint64, 1<<maybeBits/64)
	at := int32(0)
	for h := range s.index {
		s.index[h], s.first[at] = at, -1
		low := h & (1<<maybeBits - 1)
		s.maybe[low/64] |= 1 << (low % 64)
		at++
	}
}

// place is where an n-gram is in first, once adding has ended.
func (s *sample) place(hash uint64) (at int32, is bool) {
	low := hash & (1<<maybeBits - 1)
	if hash > s.bound || s.maybe[low/64]>>(low%64)&1 == 0 {
		return 0, false
	}
	at, is = s.index[hash]
	return at, is
}

func (s *sample) has(hash uint64) bool {
	_, is := s.place(hash)
	return is
}

// mark says that a training document of a source has n-grams, by their places.
func (s *sample) mark(name string, source int, places []int32) {
	number := int32(len(s.names))
	fresh := false
	for _, at := range places {
		s.in[int(at)*s.words+source/64] |= 1 << (source % 64)
		if s.first[at] < 0 {
			s.first[at], fresh = number, true
		}
	}
	if fresh {
		s.names = append(s.names, name)
	}
}

// isIn says whether the training text of a source has the n-gram at a place.
func (s *sample) isIn(at int32, source int) bool {
	return s.in[int(at)*s.words+source/64]>>(source%64)&1 != 0
}

// gatherer collects the hashes of a document's n-grams, each once. Of more than mostGrams it keeps a sample by the rule of [sample], so that
// memory does not grow with the document, and no n-gram is lost that a sample would take.
type gatherer struct {
	*dedup.Grams
	hashes []uint64
	bound  uint64
}

func newGatherer(keep func(hash uint64) bool) *gatherer {
	g := &gatherer{bound: math.MaxUint64}
	g.Grams = dedup.NewGrams(GramWords, func(h uint64) {
		if h <= g.bound && keep(h) {
			if g.hashes = append(g.hashes, h); len(g.hashes) > 2*mostGrams {
				g.prune()
			}
		}
	})
	return g
}

// prune leaves each hash once, and as many as a sample may have.
func (g *gatherer) prune() {
	slices.Sort(g.hashes)
	g.hashes = slices.Compact(g.hashes)
	for len(g.hashes) > mostGrams {
		g.bound >>= 1
		end, _ := slices.BinarySearch(g.hashes, g.bound+1)
		g.hashes = g.hashes[:end]
	}
}

// take returns the hashes of the document that ends: all of it up to bound.
func (g *gatherer) take() (hashes []uint64, bound uint64) {
	g.Grams.End()
	g.prune()
	hashes, bound = g.hashes, g.bound
	g.hashes, g.bound = nil, math.MaxUint64
	return hashes, bound
}
