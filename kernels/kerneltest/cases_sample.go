package kerneltest

import (
	"fmt"
	"math"

	"prenorm/kernels"
)

func init() {
	// Ids are compared as they are: sums of float64 in another order decide otherwise only where a random number hits their last bits.
	register(kernels.SampleTokens{}, family{cases: sampleCases, exact: true})
}

// samplings are ways to choose, each filter alone and together.
var samplings = []kernels.SampleTokens{
	{}, {TopK: 3, TopP: 0.5, MinP: 0.5}, {Temperature: 1}, {Temperature: 0.3, Seed: -5}, {Temperature: 100, Seed: 1 << 40},
	{Temperature: 1, TopK: 1}, {Temperature: 2, TopK: 5}, {Temperature: 1, TopK: 40}, {Temperature: 1, TopK: 1 << 30},
	{Temperature: 1, TopP: 0.01}, {Temperature: 2, TopP: 0.5}, {Temperature: 1, TopP: 0.95}, {Temperature: 1, TopP: 1}, {Temperature: 3, TopP: 1 - 0x1p-53},
	{Temperature: 1, MinP: 0.001}, {Temperature: 2, MinP: 0.1}, {Temperature: 1, MinP: 0.9},
	{Temperature: 1.5, TopK: 30, TopP: 0.9, MinP: 0.05, Seed: 77}, {Temperature: 4, TopK: 6, TopP: 0.6},
}

// sampleSizes are B, V.
var sampleSizes = [][2]int{{1, 1}, {0, 5}, {3, 2}, {2, 31}, {1, 32}, {4, 33}, {2, 64}, {40, 50}, {2, 1025}, {1, 5000}}

func sampleCases(g *generator) []testCase {
	var all []testCase
	add := func(name string, c kernels.SampleTokens, logits tensor) *testCase {
		b := logits.shape[0]
		places := tensor{shape: []int{b, 2}, ints: make([]int32, 2*b)}
		for i := range places.ints {
			places.ints[i] = int32(g.Uint32())
		}
		all = append(all, testCase{name: name, call: c, in: []tensor{logits, places}})
		return &all[len(all)-1]
	}
	for i, c := range samplings {
		for j, s := range sampleSizes {
			if s[1] > 1000 && (i+j)%4 != 0 {
				continue
			}
			add(fmt.Sprint(s), c, g.single(3, s[0], s[1]))
			add(fmt.Sprint(s, " tied"), c, g.floats(s[:], func(int) float64 { return math.Round(2*g.NormFloat64()) / 2 }))
		}
		add("all equal", c, g.floats([]int{3, 70}, func(int) float64 { return -2 }))
		add("zeros of both signs", c, g.floats([]int{6, 40}, func(i int) float64 { return math.Copysign(0, float64(i%3)-1) }))
		add("extremes", c, g.floats([]int{2, 3}, func(i int) float64 { return []float64{-math.MaxFloat32, math.MaxFloat32, 0}[i%3] }))
	}
	// Ranked, and yet of a weight of exactly 1 each, so that the first of them sum to exactly top-p times the sum of all.
	for _, p := range []float64{0.25, 0.5, 0.75} {
		add("exact weights", kernels.SampleTokens{Temperature: 1, TopP: p}, g.floats([]int{32, 4}, func(i int) float64 { return -1e-30 * float64(3*i%4) }))
	}
	for _, value := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		c := add(fmt.Sprint(value), kernels.SampleTokens{Temperature: 1, TopK: 2}, g.single(1, 3, 37).with(value, 37+8, 37+30, 2*37))
		c.fails = []string{"id 8 in row 1 "}
	}
	return all
}

// single makes normally distributed values that float32 holds, so that the reference in float64 chooses by the same ones.
func (g *generator) single(deviation float64, shape ...int) tensor {
	return g.floats(shape, func(int) float64 { return float64(float32(deviation * g.NormFloat64())) })
}
