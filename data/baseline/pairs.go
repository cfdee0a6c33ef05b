package baseline

import "math/bits"

// pairs counts pairs of neighbouring ids. Small vocabularies have a matrix, others a hash table with open addressing, which holds at most
// mostPairs pairs and is then full.
type pairs struct {
	vocab  int
	matrix []uint32 // [vocab*vocab]
	keys   []uint64 // first*vocab + second + 1; 0 = free
	counts []uint32
	used   int
}

// denseVocab is the largest vocabulary with a matrix, of 16 MiB; mostPairs bounds the table at 96 MiB. Tests make both smaller.
var (
	denseVocab = 2048
	mostPairs  = 1 << 22
)

func newPairs(vocab int) *pairs {
	p := &pairs{vocab: vocab}
	if vocab <= denseVocab {
		p.matrix = make([]uint32, vocab*vocab)
	} else {
		p.keys, p.counts = make([]uint64, 1<<10), make([]uint32, 1<<10)
	}
	return p
}

// add counts a pair. first says whether it was new; ok is false, and nothing is counted, where it is new and there is no room.
func (p *pairs) add(a, b int32) (first, ok bool) {
	if p.matrix != nil {
		at := int(a)*p.vocab + int(b)
		p.matrix[at]++
		return p.matrix[at] == 1, true
	}
	key := p.key(a, b)
	at := p.find(key)
	if p.keys[at] == key {
		p.counts[at]++
		return false, true
	}
	if p.used == mostPairs {
		return true, false
	}
	p.keys[at], p.counts[at] = key, 1
	if p.used++; 2*p.used > len(p.keys) {
		p.grow()
	}
	return true, true
}

// of is how often a pair was counted.
func (p *pairs) of(a, b int32) uint32 {
	if p.matrix != nil {
		return p.matrix[int(a)*p.vocab+int(b)]
	}
	return p.counts[p.find(p.key(a, b))]
}

// each hands on all pairs that were counted, in an order that depends on the counted text alone.
func (p *pairs) each(use func(a int32, count uint32)) {
	for at, n := range p.matrix {
		if n > 0 {
			use(int32(at/p.vocab), n)
		}
	}
	for at, key := range p.keys {
		if key > 0 {
			use(int32((key-1)/uint64(p.vocab)), p.counts[at])
		}
	}
}

func (p *pairs) key(a, b int32) uint64 { return uint64(a)*uint64(p.vocab) + uint64(b) + 1 }

// find is the place of a key, or the free one where it would be. There is always a free one.
func (p *pairs) find(key uint64) int {
	mask := len(p.keys) - 1
	high, low := bits.Mul64(key, 0x9e3779b97f4a7c15) // Fibonacci hashing
	for at := int(high^low) & mask; ; at = (at + 1) & mask {
		if p.keys[at] == key || p.keys[at] == 0 {
			return at
		}
	}
}

func (p *pairs) grow() {
	old := *p
	p.keys, p.counts = make([]uint64, 2*len(old.keys)), make([]uint32, 2*len(old.counts))
	for at, key := range old.keys {
		if key > 0 {
			to := p.find(key)
			p.keys[to], p.counts[to] = key, old.counts[at]
		}
	}
}
