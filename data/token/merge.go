package token

import "math"

// pair is two neighbouring ids, the left one in the upper half, so that pairs sort by the left id and then the right one.
type pair uint64

func pairOf(left, right int32) pair { return pair(uint32(left))<<32 | pair(uint32(right)) }

func (p pair) ids() (left, right int32) { return int32(p >> 32), int32(p & math.MaxUint32) }

// mergeTable gives the id that a pair merges into. Ids are given out in the order of the merges, so the lower id merges first.
type mergeTable map[pair]int32

// longWord is the number of ids from which merging uses a heap. Below it, scanning the ids again for every merge is faster.
const longWord = 48

// apply merges ids in place until no pair is in the table, always the pair of the lowest merged id and of these the leftmost, and
// returns how many ids are left.
func (m mergeTable) apply(ids []int32) int {
	if len(ids) < longWord {
		return m.applyShort(ids)
	}
	return m.applyLong(ids)
}

// applyShort takes O(n^2) time. One pass makes every merge of one pair: merging it can only bring forth pairs of higher ids.
func (m mergeTable) applyShort(ids []int32) int {
	for {
		lowest := int32(math.MaxInt32)
		var best pair
		for i := 1; i < len(ids); i++ {
			p := pairOf(ids[i-1], ids[i])
			if id, merges := m[p]; merges && id < lowest {
				lowest, best = id, p
			}
		}
		if lowest == math.MaxInt32 {
			return len(ids)
		}
		left, right := best.ids()
		n := 0
		for i := 0; i < len(ids); i++ {
			id := ids[i]
			if id == left && i+1 < len(ids) && ids[i+1] == right {
				id = lowest
				i++
			}
			ids[n] = id
			n++
		}
		ids = ids[:n]
	}
}

// candidate is a merge that may be made: the merged id in the upper half and the position of its left part in the lower one.
type candidate uint64

func (c candidate) before(d candidate) bool { return c < d }

// applyLong does the same in O(n log n) time: ids become a linked list, and the merges that may be made wait in a heap. A merge that
// another one made impossible stays in the heap and is passed over when its turn comes.
func (m mergeTable) applyLong(ids []int32) int {
	n := len(ids)
	next, previous := make([]int32, n), make([]int32, n)
	queue := make(heap[candidate], 0, n)
	mergeAt := func(at int32) (int32, bool) {
		if at < 0 || ids[at] < 0 || next[at] >= int32(n) {
			return 0, false
		}
		id, merges := m[pairOf(ids[at], ids[next[at]])]
		return id, merges
	}
	for i := range ids {
		next[i], previous[i] = int32(i+1), int32(i-1)
	}
	for i := range ids {
		if id, merges := mergeAt(int32(i)); merges {
			queue = append(queue, candidate(id)<<32|candidate(i))
		}
	}
	queue.order()
	for len(queue) > 0 {
		top := queue.pop()
		at := int32(top & math.MaxUint32)
		id, merges := mergeAt(at)
		if !merges || id != int32(top>>32) {
			continue
		}
		gone := next[at]
		ids[at], ids[gone] = id, -1
		next[at] = next[gone]
		if next[at] < int32(n) {
			previous[next[at]] = at
		}
		for _, left := range [2]int32{previous[at], at} {
			if id, merges := mergeAt(left); merges {
				queue.push(candidate(id)<<32 | candidate(left))
			}
		}
	}
	kept := 0
	for _, id := range ids {
		if id >= 0 {
			ids[kept] = id
			kept++
		}
	}
	return kept
}
