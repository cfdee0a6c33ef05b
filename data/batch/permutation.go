package batch

import "math/bits"

// permutation is a pseudo-random order of the numbers 0 … n-1 that is computed, not stored: element i is found in constant time and
// memory, whatever n. It is a Feistel network (Luby and Rackoff, "How to construct pseudorandom permutations from pseudorandom functions",
// SIAM J. Comput. 1988) over the next even power of two; a value that falls outside 0 … n-1 is sent through the network again until it
// falls inside ("cycle walking": Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002). The network is a bijection,
// so walking along its cycles is one too. The round function is SplitMix64's finaliser (Steele, Lea and Flood, OOPSLA 2014).
//
// The orders are part of what a run is: changing one constant here changes every run.
type permutation struct {
	n    uint64
	half uint           // bits of one half of the network
	keys [rounds]uint64 // drawn from seed and epoch
}

const (
	// rounds is above the four that make a Feistel network look random from both sides, because the halves are short.
	rounds = 8
	// minHalf keeps the network away from the few permutations that halves of one or two bits can express.
	minHalf = 4
	golden  = 0x9E3779B97F4A7C15
)

// newPermutation returns the order of n windows in an epoch.
func newPermutation(n, seed, epoch int64) permutation {
	p := permutation{n: uint64(n), half: max(minHalf, uint(bits.Len64(uint64(n-1))+1)/2)}
	state := mix(uint64(seed)+golden) ^ uint64(epoch)
	for i := range p.keys {
		state += golden
		p.keys[i] = mix(state)
		state ^= p.keys[i]
	}
	return p
}

// at is the element in place i, 0 <= i < n.
func (p *permutation) at(i int64) int64 {
	x := p.network(uint64(i))
	for x >= p.n {
		x = p.network(x)
	}
	return int64(x)
}

// network is the bijection of 0 … 2^(2 half) - 1.
func (p *permutation) network(x uint64) uint64 {
	mask := uint64(1)<<p.half - 1
	left, right := x>>p.half, x&mask
	for _, key := range p.keys {
		left, right = right, left^(mix(right+key)&mask)
	}
	return left<<p.half | right
}

// mix is SplitMix64's finaliser, a bijection of 64 bits in which every input bit reaches every output bit.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
