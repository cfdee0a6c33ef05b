package kerneltest

import (
	"fmt"
	"math"

	"prenorm/kernels"
)

func init() {
	register(kernels.DyT{}, family{cases: dytCases, rounding: 10}) // a vector tanh is good to a few units in the last place; a product and a sum
	// 1 - h² loses what tanh gained near one, and three factors come on top.
	register(kernels.DyTGrad{}, family{cases: dytGradCases, rounding: 24})
	register(kernels.Gate{}, family{cases: gateCases, rounding: 1}) // one rounding
	register(kernels.GateGrad{}, family{cases: gateGradCases, rounding: 2})
	register(kernels.GradScale{}, family{cases: gradScaleCases, rounding: 0})
}

func gradScaleCases(g *generator) []testCase {
	all := elementwise(g, kernels.GradScale{}, 1)
	for i := range all {
		all[i].in = append(all[i].in, g.list(0.3))
	}
	return all
}

func dytCases(g *generator) []testCase {
	var all []testCase
	for _, c := range normCases(g, true) {
		all = append(all, testCase{name: c.name, call: kernels.DyT{}, in: []tensor{c.x, g.list(0.7), c.gain, c.bias}, magnitude: []float64{1}, infinite: c.infinite})
	}
	return all
}

func dytGradCases(g *generator) []testCase {
	var all []testCase
	for _, c := range normCases(g, true) {
		t := testCase{name: c.name, call: kernels.DyTGrad{}, in: []tensor{c.x, g.list(0.7), c.gain, c.bias, c.dy}, terms: len(c.x.floats), infinite: c.infinite}
		size := math.Sqrt(float64(len(c.x.floats))) * c.dy.largest()
		t.magnitude = []float64{c.dy.largest() * c.gain.largest(), size * c.gain.largest() * c.x.largest(), size, size}
		for i, m := range t.magnitude {
			if !finite(m) {
				t.magnitude[i] = 0
			}
		}
		all = append(all, t)
	}
	return all
}

// gateSizes are N, C and the size of the gate.
var gateSizes = [][3]int{{0, 4, 4}, {3, 0, 1}, {1, 1, 1}, {3, 7, 7}, {3, 7, 1}, {2, 12, 3}, {5, 16, 16}, {4, 33, 33}, {4, 33, 1}, {65, 64, 64}, {7, 130, 65}, {300, 130, 130}, {300, 130, 1}, {2, 600, 1}}

func gateCases(g *generator) []testCase {
	var all []testCase
	for _, s := range gateSizes {
		all = append(all, testCase{name: fmt.Sprint(s), call: kernels.Gate{}, in: []tensor{g.normal(s[0], s[1]), g.normal(s[2])}})
	}
	return append(all,
		testCase{name: "NaN", call: kernels.Gate{}, in: []tensor{g.normal(3, 9).with(math.NaN(), 4), g.normal(9).with(math.NaN(), 8)}},
		testCase{name: "infinity", call: kernels.Gate{}, in: []tensor{g.normal(3, 9).with(math.Inf(1), 4), g.normal(9).with(0, 4)}, infinite: true})
}

func gateGradCases(g *generator) []testCase {
	var all []testCase
	add := func(name string, x, gate, dy tensor, infinite bool) {
		terms := len(x.floats)
		all = append(all, testCase{name: name, call: kernels.GateGrad{}, in: []tensor{x, gate, dy}, terms: terms, magnitude: []float64{0, math.Sqrt(float64(terms))}, infinite: infinite})
	}
	for _, s := range gateSizes {
		add(fmt.Sprint(s), g.normal(s[0], s[1]), g.normal(s[2]), g.normal(s[0], s[1]), false)
	}
	add("NaN", g.normal(3, 9).with(math.NaN(), 4), g.normal(9), g.normal(3, 9), false)
	add("infinity", g.normal(3, 9), g.normal(9), g.normal(3, 9).with(math.Inf(1), 4), true)
	return all
}
