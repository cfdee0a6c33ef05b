package kernels

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// samplingStream sets the random numbers of samples apart from others that are drawn with the same seed, such as dropout's.
const samplingStream = 0x73616d70

// SampleUniform is the random number in [0, 1) of a position of a sequence, a multiple of 2^-53.
func SampleUniform(seed int64, sequence, position int) float64 {
	p, q, s := uint64(position), uint64(sequence), uint64(seed)
	r := Philox([4]uint32{uint32(p), uint32(p >> 32), uint32(q), uint32(q >> 32)}, [2]uint32{uint32(s), uint32(s>>32) ^ samplingStream})
	return float64((uint64(r[0])<<32|uint64(r[1]))>>11) / (1 << 53)
}

// NotFinite is the error of [SampleTokens] for a logit that is NaN or infinite.
func NotFinite(id, row int) error {
	return fmt.Errorf("sample_tokens: the logit of id %d in row %d is not finite: the model's weights or activations are not finite "+
		"(take an earlier checkpoint, or train with a lower learning rate or with clipping)", id, row)
}

// SampleRows is [SampleTokens] on the host. weights and ranking are room for one row.
func SampleRows[F float32 | float64](c SampleTokens, ids []int32, logits []F, places []int32, weights []float64, ranking []int32) error {
	vocab := len(weights)
	for i, z := range logits {
		if z-z != 0 { // NaN and infinities
			return NotFinite(i%vocab, i/vocab)
		}
	}
	for b := range ids {
		ids[b] = sampleToken(c, logits[b*vocab:][:vocab], places[2*b:][:2], weights, ranking)
	}
	return nil
}

// sampleToken is the id of one row.
func sampleToken[F float32 | float64](c SampleTokens, logits []F, place []int32, weights []float64, ranking []int32) int32 {
	first := 0
	for id, z := range logits {
		if z > logits[first] {
			first = id
		}
	}
	if c.Temperature == 0 {
		return int32(first)
	}
	best := float64(logits[first])
	for id, z := range logits {
		weights[id] = math.Exp((float64(z) - best) / c.Temperature)
		ranking[id] = int32(id)
	}
	slices.SortFunc(ranking, func(a, b int32) int {
		return cmp.Or(cmp.Compare(logits[b], logits[a]), cmp.Compare(a, b))
	})
	kept := c.kept(weights, ranking)
	if c.MinP > 0 {
		for float64(logits[ranking[kept-1]]) < best+c.Temperature*math.Log(c.MinP) {
			kept--
		}
	}
	for _, id := range ranking[kept:] {
		weights[id] = 0
	}
	return draw(weights, SampleUniform(c.Seed, int(place[0]), int(place[1])))
}

// kept is how many ids of the ranking pass top-k and top-p.
func (c SampleTokens) kept(weights []float64, ranking []int32) int {
	kept := len(ranking)
	if c.TopK > 0 {
		kept = min(kept, c.TopK)
	}
	if c.TopP == 0 || c.TopP == 1 {
		return kept
	}
	total := 0.0
	if kept == len(ranking) {
		total = sum(weights) // in the order of ids, for which a sampler needs no ranking
	} else {
		for _, id := range ranking[:kept] {
			total += weights[id]
		}
	}
	part := 0.0
	for i, id := range ranking[:kept] {
		if part += weights[id]; part >= c.TopP*total {
			return i + 1
		}
	}
	return kept
}

func sum(x []float64) (total float64) {
	for _, v := range x {
		total += v
	}
	return total
}

// draw is the id whose share of the sum of weights holds u of it, with the shares laid out by id.
func draw(weights []float64, u float64) (drawn int32) {
	limit, part := u*sum(weights), 0.0
	for id, w := range weights {
		if w == 0 {
			continue
		}
		drawn = int32(id)
		if part += w; part > limit {
			break
		}
	}
	return drawn
}
