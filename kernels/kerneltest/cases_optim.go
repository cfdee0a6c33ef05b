package kerneltest

import (
	"fmt"
	"math"

	"prenorm/kernels"
)

func init() {
	register(kernels.GlobalNorm{}, family{cases: globalNormCases, rounding: 1}) // summed in float64, so one rounding however long
	register(kernels.Moments{}, family{cases: momentsCases, rounding: 4})       // products summed in blocks of float32, those in float64
	register(kernels.ClipFactor{}, family{cases: clipFactorCases, rounding: 3}) // a sum, a division, and the rounding of 1e-6
	register(kernels.AdamW{}, family{cases: adamWCases, rounding: 8})           // a square root, three divisions, products
	register(kernels.SGD{}, family{cases: sgdCases, rounding: 4})               // products and sums
}

func globalNormCases(g *generator) []testCase {
	var all []testCase
	add := func(name string, x tensor, infinite bool) {
		t := testCase{name: name, call: kernels.GlobalNorm{}, in: []tensor{x}, infinite: infinite}
		if g.dtype == kernels.F64 {
			t.terms = len(x.floats) // the sum has no more digits than its elements
		}
		all = append(all, t)
	}
	for _, n := range lengths() {
		add(fmt.Sprint(n), g.normal(n), false)
	}
	add("matrix", g.normal(7, 9), false)
	add("squares above float32", g.scaled(1e25, 40), false)
	add("squares below float32", g.scaled(1e-30, 40), false)
	add("one large", g.normal(5000).with(3e4, 77), false)
	add("NaN", g.normal(40).with(math.NaN(), 39), false)
	add("infinity", g.normal(40).with(math.Inf(-1), 0), true)
	add("many", g.normal(300001), false)
	return all
}

func momentsCases(g *generator) []testCase {
	var all []testCase
	add := func(name string, x, y tensor, infinite bool) {
		terms := len(x.floats)
		if g.dtype == kernels.F32 {
			terms = min(terms, 512)
		}
		all = append(all, testCase{name: name, call: kernels.Moments{}, in: []tensor{x, y}, terms: terms, infinite: infinite})
	}
	for _, n := range lengths() {
		add(fmt.Sprint(n), g.normal(n), g.normal(n), false)
	}
	add("matrix", g.normal(7, 9), g.normal(7, 9), false)
	x := g.normal(3, 700)
	add("one tensor twice", x, x, false)
	add("the largest is negative", g.normal(5000).with(-3e4, 77), g.normal(5000), false)
	add("small", g.scaled(1e-12, 900), g.scaled(1e-12, 900), false)
	for _, at := range []int{0, 517, 899} {
		add("NaN in x", g.normal(900).with(math.NaN(), at), g.normal(900), false)
	}
	add("NaN in y", g.normal(40), g.normal(40).with(math.NaN(), 3), false)
	add("infinity", g.normal(40).with(math.Inf(-1), 0), g.normal(40), true)
	add("many", g.normal(300001), g.normal(300001), false)
	return all
}

func clipFactorCases(g *generator) []testCase {
	const none = math.MaxFloat32 // no limit
	var all []testCase
	for _, limit := range []float64{0, 1, 0.25} {
		for _, norm := range []float64{0, 1e-8, 0.2, 0.25, 1, 7.5, 1e30, math.NaN(), math.Inf(1)} {
			all = append(all, testCase{name: fmt.Sprint("norm ", norm), call: kernels.ClipFactor{Max: limit}, in: []tensor{g.list(norm), g.scalar(2), g.list(none, none)},
				infinite: math.IsInf(norm, 0)})
		}
		for _, loss := range []float64{0, 2, -1, math.NaN(), math.Inf(1), math.Inf(-1), none} {
			for _, limits := range [][2]float64{{none, none}, {2, 1}, {1.5, 1}, {2, 0.5}, {1e30, 0}} {
				all = append(all, testCase{name: fmt.Sprint("loss ", loss, " limits ", limits), call: kernels.ClipFactor{Max: limit},
					in: []tensor{g.list(1), g.scalar(loss), g.list(limits[:]...)}, infinite: math.IsInf(loss, 0)})
			}
		}
	}
	return all
}

// state makes parameters, moments (the second of them not negative), a gradient, and the numbers of a step.
func (g *generator) state(n, moments int, step, clip float64) []tensor {
	in := []tensor{g.normal(n), g.scaled(0.1, n)}
	if moments == 2 {
		in = append(in, g.floats([]int{n}, func(int) float64 { return 0.01 * g.ExpFloat64() }))
	}
	return append(in, g.normal(n), g.list(0.02, 1-math.Pow(0.9, step), 1-math.Pow(0.95, step), clip))
}

func adamWCases(g *generator) []testCase {
	c := kernels.AdamW{Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, WeightDecay: 0.1}
	plain := c
	plain.WeightDecay = 0
	alias := []int{0, 1, 2}
	var all []testCase
	for i, n := range lengths() {
		t := testCase{name: fmt.Sprint(n), call: c, in: g.state(n, 2, float64(1+i), 1), alias: alias}
		if i%2 == 1 {
			t.call, t.in[4] = plain, t.in[4].with(0.3, 3)
		}
		all = append(all, t)
	}
	first := g.state(33, 2, 1, 1)
	first[1], first[2] = g.scaled(0, 33), g.scaled(0, 33)
	first[3] = first[3].with(0, 0, 5, 32)
	all = append(all, testCase{name: "first step, some gradients zero", call: c, in: first, alias: alias})
	small := g.state(33, 2, 1, 1)
	small[1], small[2], small[3] = g.scaled(0, 33), g.scaled(0, 33), g.scaled(1e-9, 33)
	all = append(all, testCase{name: "gradients below eps", call: c, in: small, alias: alias})
	nan := g.state(33, 2, 3, 1)
	nan[3] = nan[3].with(math.NaN(), 17)
	clip := g.state(35, 2, 3, math.NaN())
	return append(all, testCase{name: "NaN", call: c, in: nan, alias: alias}, testCase{name: "clip factor NaN", call: c, in: clip, alias: alias})
}

func sgdCases(g *generator) []testCase {
	alias := []int{0, 1}
	var all []testCase
	for i, n := range lengths() {
		c := kernels.SGD{Momentum: []float64{0, 0.9}[i%2], WeightDecay: []float64{0, 0.1, 0.01}[i%3]}
		all = append(all, testCase{name: fmt.Sprint(n), call: c, in: g.state(n, 1, 1, []float64{1, 0.3}[i%2]), alias: alias})
	}
	nan := g.state(33, 1, 3, 1)
	nan[2] = nan[2].with(math.NaN(), 17)
	clip, c := g.state(35, 1, 3, math.NaN()), kernels.SGD{Momentum: 0.9, WeightDecay: 0.1}
	return append(all, testCase{name: "NaN", call: c, in: nan, alias: alias}, testCase{name: "clip factor NaN", call: c, in: clip, alias: alias})
}
