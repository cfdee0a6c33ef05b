package kerneltest

import (
	"fmt"
	"math"

	"prenorm/kernels"
)

func init() {
	register(kernels.Add{}, family{cases: addCases, rounding: 1})         // one rounding
	register(kernels.Scale{}, family{cases: scaleCases, rounding: 1})     // one rounding, and the factor's
	register(kernels.Softcap{}, family{cases: softcapCases, rounding: 8}) // a vector tanh is good to a few units in the last place
	// Vector exponentials and hyperbolic tangents are good to a few units in the last place; a slope adds up four such terms, and a
	// gated one multiplies two more factors.
	register(kernels.Activation{}, family{cases: activationCases, rounding: 8})
	register(kernels.ActivationGrad{}, family{cases: activationGradCases, rounding: 16})
	register(kernels.GatedActivation{}, family{cases: gatedCases, rounding: 8})
	register(kernels.GatedActivationGrad{}, family{cases: gatedGradCases, rounding: 16})
	register(kernels.Dropout{}, family{cases: dropoutCases, rounding: 2}) // the rounding of 1/(1-rate) and of the product
	register(kernels.Fill{}, family{cases: fillCases, exact: true})
}

// lengths are 0 … 70, which cover every remainder of every vector width, and a few long ones, worth more than one worker.
func lengths() []int {
	var all []int
	for n := range 71 {
		all = append(all, n)
	}
	return append(all, 127, 128, 129, 1000, 4099, 70001)
}

// special are values at which activations change their ways: zeros, the tails, and what overflows an exponential.
var special = []float64{0, math.Copysign(0, -1), 1, -1, 1e-30, -1e-30, 5, -5, 9.5, -9.5, 15, -15, 30, -30, 88, -88, 90, -90, 104, -104, 200, -200, 1e4, -1e4}

// elementwise makes the cases of a call of n inputs of one shape.
func elementwise(g *generator, c kernels.Call, n int) []testCase {
	var all []testCase
	add := func(name string, make func() tensor, infinite bool) {
		t := testCase{name: name, call: c, infinite: infinite}
		for range n {
			t.in = append(t.in, make())
		}
		all = append(all, t)
	}
	for _, length := range lengths() {
		add(fmt.Sprint(length), func() tensor { return g.scaled(2, length) }, false)
	}
	add("[3 7]", func() tensor { return g.normal(3, 7) }, false)
	add("[2 3 5]", func() tensor { return g.normal(2, 3, 5) }, false)
	add("scalar", func() tensor { return g.scalar(1.5) }, false)
	add("special", func() tensor { return g.list(special...) }, false)
	for i := range n {
		for _, value := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			add(fmt.Sprintf("%g in input %d", value, i), func() tensor { return g.normal(37) }, math.IsInf(value, 0))
			last := &all[len(all)-1]
			last.in[i] = last.in[i].with(value, 0, 18, 36)
		}
	}
	return all
}

func addCases(g *generator) []testCase { return elementwise(g, kernels.Add{}, 2) }

func scaleCases(g *generator) []testCase {
	var all []testCase
	for _, factor := range []float64{1, -0.3, 0, 1e-3, 17} {
		all = append(all, elementwise(g, kernels.Scale{Factor: factor}, 1)...)
	}
	return all
}

func softcapCases(g *generator) []testCase {
	return append(elementwise(g, kernels.Softcap{Cap: 1.5}, 1), elementwise(g, kernels.Softcap{Cap: 30}, 1)...)
}

func activationCases(g *generator) []testCase {
	all := append(elementwise(g, kernels.Activation{Kind: "gelu_tanh"}, 1), elementwise(g, kernels.Activation{Kind: "silu"}, 1)...)
	// One value of the left tail a case: where a formula cancels, nothing else is large enough to hide that.
	for _, x := range []float64{-2, -4, -4.5, -5} {
		for _, kind := range []string{"gelu_tanh", "silu"} {
			// The exponent is good to an epsilon of its size, which is at most 16 here.
			all = append(all, testCase{name: fmt.Sprint("tail at ", x), call: kernels.Activation{Kind: kind}, in: []tensor{g.list(x)}, rounding: 16})
		}
	}
	return all
}

func activationGradCases(g *generator) []testCase {
	return append(elementwise(g, kernels.ActivationGrad{Kind: "gelu_tanh"}, 2), elementwise(g, kernels.ActivationGrad{Kind: "silu"}, 2)...)
}

func gatedCases(g *generator) []testCase {
	return append(elementwise(g, kernels.GatedActivation{Kind: "gelu_tanh"}, 2), elementwise(g, kernels.GatedActivation{Kind: "silu"}, 2)...)
}

func gatedGradCases(g *generator) []testCase {
	return append(elementwise(g, kernels.GatedActivationGrad{Kind: "gelu_tanh"}, 3), elementwise(g, kernels.GatedActivationGrad{Kind: "silu"}, 3)...)
}

func dropoutCases(g *generator) []testCase {
	var all []testCase
	for _, rate := range []float64{0, 0.1, 0.5, 0.9} {
		for _, c := range elementwise(g, kernels.Dropout{Rate: rate, Site: uint32(100 * rate)}, 1) {
			c.in = append(c.in, integers(g.Int32(), -g.Int32(), g.Int32N(1e6), g.Int32N(8)))
			all = append(all, c)
		}
	}
	return append(all, dropoutEdges(g)...)
}

// dropoutEdges are rates at, just above and just below the random number of one element, between which and its neighbours there is none.
func dropoutEdges(g *generator) []testCase {
	var all []testCase
	counter := [4]int32{3, -5, 70, 1}
	for i := range 9 {
		at := float64(kernels.Uniform(counter, 1, i))
		for _, rate := range []float64{at, at + 0x1p-26, at - 0x1p-26} {
			all = append(all, testCase{name: fmt.Sprintf("%g at the random number of element %d", rate, i), call: kernels.Dropout{Rate: rate, Site: 1},
				in: []tensor{g.normal(9), integers(counter[:]...)}})
		}
	}
	return all
}

func fillCases(g *generator) []testCase {
	var all []testCase
	for i, n := range lengths() {
		value := []float64{0, 1, -2.5}[i%3]
		all = append(all, testCase{name: fmt.Sprint(n), call: kernels.Fill{Value: value}, in: []tensor{g.normal(n)}, alias: []int{0}})
		if i%3 != 2 {
			all = append(all, testCase{name: fmt.Sprint(n, " integers"), call: kernels.Fill{Value: value}, in: []tensor{g.below(n, 100)}, alias: []int{0}})
		}
	}
	return append(all, testCase{name: "NaN", call: kernels.Fill{Value: math.NaN()}, in: []tensor{g.normal(3, 5)}, alias: []int{0}})
}
