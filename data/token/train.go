package token

import (
	"errors"
	"math"
	"slices"
)

// trainer learns merges. The distinct pre-tokens lie one after another in ids, a gap before, between and after them. A token of n
// bytes at position p has its id in ids[p] and n in both length[p] and length[p+n-1], so that both neighbours of a token are found
// without a list; the position of every token merged into its left neighbour holds gap.
type trainer struct {
	ids    []int32
	length []uint32
	word   []int32 // which pre-token a position belongs to
	counts []int64 // of each pre-token
	pairs  map[pair]*occurrences
	queue  heap[count]
	fresh  []pair // first seen in the merge at hand
	bytes  []int  // of each id's token
}

// occurrences says how often a pair occurs in the corpus and where it has stood, in ascending order. Merges on either side make
// positions stale; these are noticed when they are used.
type occurrences struct {
	count     int64
	positions []uint32
}

// count is a pair and how often it occurred when it was queued.
type count struct {
	occurs int64
	pair   pair
}

// before holds the rule for ties: of equally frequent pairs the one of the smaller left id merges first, then of the smaller right id.
func (c count) before(d count) bool {
	if c.occurs != d.occurs {
		return c.occurs > d.occurs
	}
	return c.pair < d.pair
}

// trainMerges learns up to most merges: at each step the pair that occurs most often, ties broken by smaller ids (see
// [count.before]), is merged everywhere. It stops early when no pair occurs minFrequency times. A pair whose token would be longer
// than maxTokenBytes is left alone. The cost of a merge is that of its own occurrences.
//
// No two merges spell the same token: no merge reaches across the ends of a pair, so earlier merges treated its bytes as they would
// have treated them alone, and an older token of these bytes would stand there already.
func trainMerges(c *wordCounts, byteID [256]int32, most int, progress Progress) ([]pair, error) {
	t, err := newTrainer(c, byteID)
	if err != nil {
		return nil, err
	}
	var merges []pair
	for len(merges) < most && len(t.queue) > 0 {
		best := t.queue.pop()
		now := t.pairs[best.pair].count
		if now < minFrequency {
			delete(t.pairs, best.pair)
			continue
		}
		if now < best.occurs {
			t.queue.push(count{now, best.pair})
			continue
		}
		left, right := best.pair.ids()
		size := t.bytes[left] + t.bytes[right]
		if size > maxTokenBytes {
			continue
		}
		t.bytes = append(t.bytes, size)
		t.merge(best.pair, int32(256+len(merges)))
		merges = append(merges, best.pair)
		if err := progress(int64(len(merges)), int64(most)); err != nil {
			return nil, err
		}
	}
	return merges, nil
}

func newTrainer(c *wordCounts, byteID [256]int32) (*trainer, error) {
	size := uint64(1)
	for _, word := range c.words {
		size += uint64(len(word)) + 1
	}
	if size > math.MaxUint32 {
		return nil, errors.New("the distinct pre-tokens take more than 4 GiB: train on a part of the text, then use the file")
	}
	t := &trainer{
		ids: make([]int32, size), length: make([]uint32, size), word: make([]int32, size), counts: c.counts,
		pairs: map[pair]*occurrences{}, bytes: slices.Repeat([]int{1}, 256),
	}
	for i := range t.ids {
		t.ids[i], t.length[i] = gap, 1
	}
	at := uint32(1)
	for w, word := range c.words {
		for i := range len(word) {
			t.ids[at], t.word[at] = byteID[word[i]], int32(w)
			if i > 0 {
				t.occur(at-1, 1, at)
			}
			at++
		}
		at++
	}
	t.queueFresh()
	return t, nil
}

// occur counts sign times the pair of the tokens at left and right, if neither is a gap.
func (t *trainer) occur(left uint32, sign int64, right uint32) {
	if t.ids[left] == gap || t.ids[right] == gap {
		return
	}
	p := pairOf(t.ids[left], t.ids[right])
	o := t.pairs[p]
	if o == nil {
		if sign < 0 {
			return // the pair being merged, which the table no longer holds
		}
		o = &occurrences{}
		t.pairs[p] = o
		t.fresh = append(t.fresh, p)
	}
	o.count += sign * t.counts[t.word[left]]
	if sign > 0 {
		o.positions = append(o.positions, left)
	}
}

// queueFresh queues the pairs first seen since the last call. A pair's count never grows after that, since the merge that made the
// younger of its ids is over.
func (t *trainer) queueFresh() {
	for _, p := range t.fresh {
		if n := t.pairs[p].count; n >= minFrequency {
			t.queue.push(count{n, p})
		} else {
			delete(t.pairs, p)
		}
	}
	t.fresh = t.fresh[:0]
}

// merge replaces every occurrence of p by id, from left to right.
func (t *trainer) merge(p pair, id int32) {
	first, second := p.ids()
	positions := t.pairs[p].positions
	delete(t.pairs, p)
	for _, at := range positions {
		if t.ids[at] != first {
			continue
		}
		gone := at + t.length[at]
		if t.ids[gone] != second {
			continue
		}
		left, right := at-t.length[at-1], gone+t.length[gone]
		t.occur(left, -1, at)
		t.occur(gone, -1, right)
		size := t.length[at] + t.length[gone]
		t.ids[at], t.ids[gone] = id, gap
		t.length[at], t.length[right-1] = size, size
		t.occur(left, 1, at)
		t.occur(at, 1, right)
	}
	t.queueFresh()
}
