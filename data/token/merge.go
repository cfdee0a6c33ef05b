package token

import (
	"math"
	"slices"
)

// pair is two neighbouring ids, the left one in the upper half, so that pairs sort by the left id and then the right one.
type pair uint64

func pairOf(left, right int32) pair { return pair(uint32(left))<<32 | pair(uint32(right)) }

func (p pair) ids() (left, right int32) { return int32(p >> 32), int32(p & math.MaxUint32) }

const (
	idBits   = 21 // of an id in a table's slot; ids are below maxVocab, and ids that stand for no token below twice that
	ruleBits = 64 - 2*idBits
	maxRules = 1<<ruleBits - 1 // so that no slot is vacant by its content
	noRule   = int32(math.MaxInt32)
	vacant   = math.MaxUint64
)

// mergeTable gives the rule by which a pair merges. Rules are numbered in the order of their precedence: the lower one merges first.
//
// It is a hash table with linear probing, at most half full. A slot holds both ids and the number of the rule, so that a look-up reads one
// line of memory where a map of Go's reads several. Most pairs have no rule, which a bit for each quarter of a slot tells in an eighth of the
// memory, near enough to stay in a second cache; pairs of bytes, which every word starts with, are looked up directly.
type mergeTable struct {
	bytes  []int32 // [256*256] rules of pairs of ids below 256
	filter []uint64
	slots  []uint64
	shift  uint    // 64 - log2 of the number of slots
	result []int32 // [rules] the id that a rule's pair becomes
	order  []int32 // [rules] precedences where several rules share one; nil: the numbers
}

// quarters is log2 of the filter's bits for each slot.
const quarters = 2

// newMergeTable returns an empty table for so many rules.
func newMergeTable(rules int) *mergeTable {
	m := &mergeTable{shift: 58}
	for size := 64; size < 2*rules; size *= 2 {
		m.shift--
	}
	m.slots = slices.Repeat([]uint64{vacant}, 1<<(64-m.shift))
	m.filter = make([]uint64, len(m.slots)>>(6-quarters))
	m.bytes = slices.Repeat([]int32{noRule}, 256*256)
	m.result = make([]int32, 0, rules)
	return m
}

// add makes the next rule: left and right become result. A pair that has a rule keeps it, and add returns false.
func (m *mergeTable) add(left, right, result int32) bool {
	if m.rule(left, right) != noRule {
		return false
	}
	rule := int32(len(m.result))
	m.result = append(m.result, result)
	if left < 256 && right < 256 {
		m.bytes[left<<8|right] = rule
		return true
	}
	key, hash := slotKey(left, right)
	at := hash >> m.shift
	for m.slots[at] != vacant {
		at = (at + 1) & uint64(len(m.slots)-1)
	}
	m.slots[at] = key<<ruleBits | uint64(rule)
	bit := hash >> (m.shift - quarters)
	m.filter[bit>>6] |= 1 << (bit & 63)
	return true
}

// slotKey returns both ids as one number, and its product with 2^64 divided by the golden ratio, whose upper bits are the place in the table.
func slotKey(left, right int32) (key, hash uint64) {
	key = uint64(uint32(left))<<idBits | uint64(uint32(right))
	return key, key * 0x9E3779B97F4A7C15
}

// rule returns the number of a pair's rule, or noRule.
func (m *mergeTable) rule(left, right int32) int32 {
	if uint32(left|right) < 256 {
		return m.bytes[left<<8|right]
	}
	key, hash := slotKey(left, right)
	if bit := hash >> (m.shift - quarters); m.filter[bit>>6]>>(bit&63)&1 == 0 {
		return noRule
	}
	for at := hash >> m.shift; m.slots[at] != vacant; at = (at + 1) & uint64(len(m.slots)-1) {
		if m.slots[at]>>ruleBits == key {
			return int32(m.slots[at] & (1<<ruleBits - 1))
		}
	}
	return noRule
}

// pairs lists the rules' pairs in their order.
func (m *mergeTable) pairs() []pair {
	pairs := make([]pair, len(m.result))
	for p, rule := range m.bytes {
		if rule != noRule {
			pairs[rule] = pairOf(int32(p>>8), int32(p&255))
		}
	}
	for _, slot := range m.slots {
		if slot != vacant {
			key := slot >> ruleBits
			pairs[slot&(1<<ruleBits-1)] = pairOf(int32(key>>idBits), int32(key&(1<<idBits-1)))
		}
	}
	return pairs
}

// precedence returns what rules are ordered by.
func (m *mergeTable) precedence(rule int32) int32 {
	if m.order == nil || rule == noRule {
		return rule
	}
	return m.order[rule]
}

// longWord is the number of ids from which merging uses a heap. Below it, looking through all pairs for every merge is faster.
const longWord = 128

// apply merges ids in place until no pair has a rule, always by the first rule in the order of precedence and of its pairs the leftmost,
// and returns how many ids are left.
func (m *mergeTable) apply(ids []int32, room *mergeRoom) int {
	if len(ids) < longWord {
		return m.applyShort(ids)
	}
	return m.applyLong(ids, room)
}

// applyShort takes O(n^2) time, but looks up every pair only once. len(ids) is less than longWord.
func (m *mergeTable) applyShort(ids []int32) int {
	var rules [longWord]int32 // of the pair of i and i+1
	n := len(ids)
	for i := range n - 1 {
		rules[i] = m.rule(ids[i], ids[i+1])
	}
	for n > 1 {
		at, rule, first := 0, noRule, noRule
		for i, r := range rules[:n-1] {
			if p := m.precedence(r); p < first {
				at, rule, first = i, r, p
			}
		}
		if rule == noRule {
			break
		}
		ids[at] = m.result[rule]
		copy(ids[at+1:n], ids[at+2:n])
		copy(rules[at:n-1], rules[at+1:n-1])
		n--
		if at > 0 {
			rules[at-1] = m.rule(ids[at-1], ids[at])
		}
		if at < n-1 {
			rules[at] = m.rule(ids[at], ids[at+1])
		}
	}
	return n
}

const gap = -1 // in place of an id that was merged into its left neighbour

// candidate is a merge that may be made: the rule's precedence in the upper half and the position of its left part in the lower one.
type candidate uint64

func (c candidate) before(d candidate) bool { return c < d }

// mergeRoom is memory that merging uses again from one long word to the next.
type mergeRoom struct {
	next, previous []int32
	queue          heap[candidate]
}

// mostRoom bounds in bytes what is kept after a word.
const mostRoom = 1 << 20

func (r mergeRoom) bytes() int { return 4*cap(r.next) + 4*cap(r.previous) + 8*cap(r.queue) }

// applyLong does the same in O(n log n) time: ids become a linked list, and the merges that may be made wait in a heap. A merge that
// another one made impossible stays in the heap and is passed over when its turn comes.
func (m *mergeTable) applyLong(ids []int32, room *mergeRoom) int {
	n := len(ids)
	next, previous := slices.Grow(room.next[:0], n)[:n], slices.Grow(room.previous[:0], n)[:n]
	queue := slices.Grow(room.queue[:0], n)
	ruleAt := func(at int32) int32 {
		if at < 0 || ids[at] == gap || next[at] >= int32(n) {
			return noRule
		}
		return m.rule(ids[at], ids[next[at]])
	}
	for i := range ids {
		next[i], previous[i] = int32(i+1), int32(i-1)
	}
	for i := range ids {
		if rule := ruleAt(int32(i)); rule != noRule {
			queue = append(queue, candidate(m.precedence(rule))<<32|candidate(i))
		}
	}
	queue.order()
	for len(queue) > 0 {
		top := queue.pop()
		at := int32(top & math.MaxUint32)
		rule := ruleAt(at)
		if rule == noRule || m.precedence(rule) != int32(top>>32) {
			continue
		}
		gone := next[at]
		ids[at], ids[gone] = m.result[rule], gap
		next[at] = next[gone]
		if next[at] < int32(n) {
			previous[next[at]] = at
		}
		for _, left := range [2]int32{previous[at], at} {
			if rule := ruleAt(left); rule != noRule {
				queue.push(candidate(m.precedence(rule))<<32 | candidate(left))
			}
		}
	}
	if used := (mergeRoom{next, previous, queue}); used.bytes() <= mostRoom {
		*room = used
	}
	kept := 0
	for _, id := range ids {
		if id != gap {
			ids[kept] = id
			kept++
		}
	}
	return kept
}
