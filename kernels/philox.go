package kernels

// Philox is the counter-based generator Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): 128 random
// bits from a counter and a key, with no state, so that any element of any step can be drawn again, in any order, on any device.
func Philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	first := key
	for round := range 10 {
		key = PhiloxKey(first, round)
		a := uint64(counter[0]) * 0xD2511F53
		b := uint64(counter[2]) * 0xCD9E8D57
		counter = [4]uint32{uint32(b>>32) ^ counter[1] ^ key[0], uint32(b), uint32(a>>32) ^ counter[3] ^ key[1], uint32(a)}
	}
	return counter
}

// PhiloxKey is the key of a round, from 0.
func PhiloxKey(key [2]uint32, round int) [2]uint32 {
	return [2]uint32{key[0] + uint32(round)*0x9E3779B9, key[1] + uint32(round)*0xBB67AE85}
}

// Uniform is the random number in [0, 1) of element i at a dropout site, a multiple of 2^-24. counter holds {seed low, seed high, step,
// micro-batch}. Elements 4j … 4j+3 share one Philox block: {j, site, step, micro-batch} under the key {seed low, seed high}.
func Uniform(counter [4]int32, site uint32, i int) float32 {
	block := Philox([4]uint32{uint32(i / 4), site, uint32(counter[2]), uint32(counter[3])}, [2]uint32{uint32(counter[0]), uint32(counter[1])})
	return float32(block[i%4]>>8) * (1.0 / (1 << 24))
}
