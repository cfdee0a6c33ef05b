package kerneltest

import (
	"fmt"
	"math"

	"prenorm/kernels"
)

func init() {
	// One rounding of the result, one of a product, one more when the bias and one when the residual or C is added.
	register(kernels.MatMul{}, family{cases: matMulCases, rounding: 4})
	register(kernels.Convert{}, family{cases: convertCases, exact: true})
	register(kernels.AddBias{}, family{cases: addBiasCases, rounding: 1}) // one rounding
	register(kernels.SumRows{}, family{cases: sumRowsCases, rounding: 1}) // the rounding of the result beside the sum's
}

// matMulSizes are M, N, K on and beside the edges of tiles of 4, 6, 8, 16, 32 and 64, and two that are worth more than one worker.
var matMulSizes = [][3]int{
	{1, 1, 1}, {1, 7, 3}, {5, 1, 9}, {0, 5, 4}, {4, 0, 3}, {3, 4, 0}, {2, 3, 4}, {7, 13, 5}, {8, 8, 8}, {6, 16, 4}, {7, 17, 8}, {15, 31, 16},
	{16, 16, 33}, {31, 32, 33}, {33, 65, 31}, {64, 64, 64}, {65, 63, 67}, {1, 129, 64}, {129, 1, 65}, {17, 129, 257}, {70, 36, 520}, {121, 200, 64},
}

func matMulCases(g *generator) []testCase {
	var all []testCase
	add := func(c kernels.MatMul, m, n, k int, name string, spoil float64) {
		a, b := g.normal(m, k), g.normal(k, n)
		if c.TransA {
			a = g.normal(k, m)
		}
		if c.TransB {
			b = g.normal(n, k)
		}
		if spoil != 0 {
			a = a.with(spoil, len(a.floats)/2)
		}
		t := testCase{name: fmt.Sprintf("%d x %d x %d%s", m, n, k, name), call: c, in: []tensor{a, b}, terms: k, magnitude: []float64{math.Sqrt(float64(k))}, infinite: math.IsInf(spoil, 0)}
		if c.Accumulate {
			initial := g.normal(m, n)
			t.initial = &initial
		}
		if c.Bias {
			t.in = append(t.in, g.normal(n))
		}
		if c.Residual {
			t.in = append(t.in, g.normal(m, n))
		}
		all = append(all, t)
	}
	for mode := range 16 {
		c := kernels.MatMul{TransA: mode&1 != 0, TransB: mode&2 != 0, Accumulate: mode&12 == 12, Bias: mode&4 != 0, Residual: mode&12 == 8}
		if mode&12 == 0 {
			c.Bias, c.Residual = true, true
		}
		for i, s := range matMulSizes {
			if i%4 == mode/4 {
				add(c, s[0], s[1], s[2], "", 0)
			}
		}
		add(c, 9, 18, 7, " with a NaN", math.NaN())
	}
	for mode := range 8 {
		c := kernels.MatMul{TransA: mode&1 != 0, TransB: mode&2 != 0, Accumulate: mode&4 != 0}
		for _, s := range matMulSizes {
			add(c, s[0], s[1], s[2], "", 0)
		}
		add(c, 9, 18, 7, " with a NaN", math.NaN())
		add(c, 9, 18, 7, " with an infinity", math.Inf(1))
	}
	// A whole tile with addends of its own, small enough that each view is shifted alone.
	for mode := range 4 {
		for _, bias := range []bool{false, true} {
			add(kernels.MatMul{TransA: mode&1 != 0, TransB: mode&2 != 0, Bias: bias, Residual: true}, 64, 64, 4, "", 0)
		}
	}
	// A factor of zero must not hide the NaN of the other.
	b := g.normal(8, 8).with(math.NaN(), 11)
	return append(all, testCase{name: "zeros and a NaN", call: kernels.MatMul{}, in: []tensor{g.scaled(0, 8, 8), b}, terms: 8})
}

// rowSizes are N, C of matrices that are treated row by row.
var rowSizes = [][2]int{{1, 1}, {0, 3}, {3, 0}, {1, 7}, {2, 4}, {3, 8}, {5, 9}, {4, 15}, {17, 16}, {7, 17}, {2, 31}, {3, 33}, {5, 64}, {65, 65}, {33, 127}, {300, 130}}

func convertCases(g *generator) []testCase {
	var all []testCase
	for _, s := range rowSizes {
		all = append(all, testCase{name: fmt.Sprint(s), call: kernels.Convert{}, in: []tensor{g.normal(s[0], s[1])}})
	}
	// Between two bfloat16: below, at and above the middle, from even and from odd; the largest, which rounds to infinity; none is a number.
	edges := []float64{1, 1 + 0x1p-9, 1 + 0x1p-8, 1 + 0x1.8p-8, 1 + 0x1p-7 + 0x1p-8, -1 - 0x1p-8, 0, math.Copysign(0, -1), 0x1p-126, 0x1p-133, 3.3e38, math.MaxFloat32}
	for range 3 {
		all = append(all, testCase{name: "edges", call: kernels.Convert{}, in: []tensor{g.list(edges...)}},
			testCase{name: "no numbers", call: kernels.Convert{}, in: []tensor{g.list(math.NaN(), math.Inf(1), 2, math.Inf(-1))}})
	}
	return all
}

func addBiasCases(g *generator) []testCase {
	var all []testCase
	for _, s := range rowSizes {
		all = append(all, testCase{name: fmt.Sprint(s), call: kernels.AddBias{}, in: []tensor{g.normal(s[0], s[1]), g.normal(s[1])}})
	}
	return append(all,
		testCase{name: "NaN", call: kernels.AddBias{}, in: []tensor{g.normal(3, 9).with(math.NaN(), 4), g.normal(9).with(math.NaN(), 8)}},
		testCase{name: "infinity", call: kernels.AddBias{}, in: []tensor{g.normal(3, 9).with(math.Inf(1), 4), g.normal(9).with(math.Inf(-1), 4)}, infinite: true})
}

func sumRowsCases(g *generator) []testCase {
	var all []testCase
	for _, s := range rowSizes {
		all = append(all, testCase{name: fmt.Sprint(s), call: kernels.SumRows{}, in: []tensor{g.normal(s[0], s[1])}, terms: s[0], magnitude: []float64{math.Sqrt(float64(s[0]))}})
	}
	return append(all, testCase{name: "NaN", call: kernels.SumRows{}, in: []tensor{g.normal(5, 9).with(math.NaN(), 13)}, terms: 5, magnitude: []float64{3}})
}
