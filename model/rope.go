package model

import (
	"fmt"
	"math"

	"prenorm/model/graph"
)

// ropeTable declares the table of cosines and sines of block l, shared by all blocks of one theta.
func (b *builder) ropeTable(l int) graph.Tensor {
	c := b.Config
	if c.Context > maxTable/c.HeadDim {
		b.Failf("position", "a table of context %d times head_dim %d is too large: lower model.context", c.Context, c.HeadDim)
		return nil
	}
	theta := pattern(c.Position.Theta, l)
	name := fmt.Sprintf("rope.theta=%g", theta)
	return b.Constant(name, RopeTable(c.Position.Scaling, theta, c.HeadDim, c.Context), c.Context, c.HeadDim)
}

// maxTable bounds the elements of a table of cosines and sines: 1 GiB of float32.
const maxTable = 1 << 28

// RopeTable returns [positions, dim]: the cosines of position times frequency in the first half of each row, the sines in the second. The
// frequency of pair j is theta^(-2j/dim) (Su et al., arXiv 2104.09864), changed by the scaling.
func RopeTable(s Scaling, theta float64, dim, positions int) []float64 {
	frequency, magnitude := frequencies(s, theta, dim)
	table := make([]float64, positions*dim)
	for p := range positions {
		for j, f := range frequency {
			sin, cos := math.Sincos(float64(p) * f)
			table[p*dim+j] = cos * magnitude
			table[p*dim+dim/2+j] = sin * magnitude
		}
	}
	return table
}

// frequencies returns the dim/2 angular frequencies and the factor on cosines and sines.
func frequencies(s Scaling, theta float64, dim int) (f []float64, magnitude float64) {
	magnitude = 1
	if s.Kind == "ntk" { // theta' = theta · factor^(dim/(dim-2)): "NTK-aware" scaling
		theta *= math.Pow(s.Factor, float64(dim)/math.Max(float64(dim-2), 1))
	}
	f = make([]float64, dim/2)
	for j := range f {
		f[j] = math.Pow(theta, -2*float64(j)/float64(dim))
	}
	switch s.Kind {
	case "linear": // Chen et al., arXiv 2306.15595
		for j := range f {
			f[j] /= s.Factor
		}
	case "llama3": // Llama 3.1: low frequencies are divided, high ones kept, those between are blended
		for j := range f {
			f[j] = llama3(s, f[j])
		}
	case "yarn": // Peng et al., arXiv 2309.00071
		yarn(s, f, theta, dim)
		magnitude = 0.1*math.Log(s.Factor) + 1
	}
	return f, magnitude
}

// llama3 scales one frequency by its number of turns in the original context: fewer than LowFreq are divided by Factor, more than HighFreq
// stay, and between them the share of the original grows linearly with the turns.
func llama3(s Scaling, f float64) float64 {
	turns := float64(s.Original) * f / (2 * math.Pi)
	keep := (turns - s.LowFreq) / (s.HighFreq - s.LowFreq)
	keep = math.Min(math.Max(keep, 0), 1)
	return (1-keep)*f/s.Factor + keep*f
}

// yarn divides low frequencies by Factor and keeps high ones; between the pairs that turn HighFreq (beta_fast) and LowFreq (beta_slow) times
// in the original context the blend is linear in the pair's number, as in the authors' code.
func yarn(s Scaling, f []float64, theta float64, dim int) {
	pair := func(turns float64) float64 {
		return float64(dim) * math.Log(float64(s.Original)/(turns*2*math.Pi)) / (2 * math.Log(theta))
	}
	low := math.Max(math.Floor(pair(s.HighFreq)), 0)
	high := math.Min(math.Ceil(pair(s.LowFreq)), float64(dim-1))
	for j := range f {
		divided := math.Min(math.Max((float64(j)-low)/math.Max(high-low, 1e-3), 0), 1)
		f[j] = divided*f[j]/s.Factor + (1-divided)*f[j]
	}
}
