package kerneltest

import (
	"fmt"
	"math"

	"prenorm/kernels"
)

func init() {
	// Roundings of a square root, a division (or a reciprocal square root refined by one step), and of products.
	register(kernels.RMSNorm{}, family{cases: rmsNormCases, rounding: 6})
	register(kernels.RMSNormGrad{}, family{cases: rmsNormGradCases, rounding: 12}) // the same, in the cube of rstd
	register(kernels.AddRMSNorm{}, family{cases: addRMSNormCases, rounding: 7})
	register(kernels.AddRMSNormGrad{}, family{cases: addRMSNormGradCases, rounding: 13})
	register(kernels.LayerNorm{}, family{cases: layerNormCases, rounding: 8})
	register(kernels.LayerNormGrad{}, family{cases: layerNormGradCases, rounding: 16}) // two means beside it
	register(kernels.AddLayerNorm{}, family{cases: addLayerNormCases, rounding: 9})
	register(kernels.AddLayerNormGrad{}, family{cases: addLayerNormGradCases, rounding: 17})
}

// normSize is N rows of a width, normalised in runs of d.
type normSize struct{ n, width, d int }

var normSizes = []normSize{
	{1, 1, 1}, {0, 4, 4}, {3, 2, 1}, {2, 3, 3}, {3, 4, 4}, {5, 7, 7}, {2, 8, 8}, {3, 9, 9}, {1, 15, 15}, {4, 16, 16}, {3, 17, 17}, {2, 31, 31}, {2, 32, 32},
	{7, 33, 33}, {3, 63, 63}, {3, 64, 64}, {3, 65, 65}, {2, 96, 16}, {5, 12, 3}, {3, 40, 8}, {4, 128, 32}, {1, 257, 257}, {67, 130, 130}, {300, 64, 16},
}

// normCase is what the forward and the backward calls of one case share.
type normCase struct {
	name             string
	size             normSize
	unit             bool
	x, gain, bias    tensor
	dy               tensor
	infinite, biased bool
}

// eps is large enough that rows near zero have gradients of moderate size.
const eps = 1e-5

func normCases(g *generator, biased bool) []normCase {
	var all []normCase
	add := func(name string, s normSize, deviation, mean float64, unit bool) *normCase {
		c := normCase{name: fmt.Sprintf("%v%s unit=%v", s, name, unit), size: s, unit: unit, biased: biased}
		c.x = g.floats([]int{s.n, s.width}, func(int) float64 { return mean + deviation*g.NormFloat64() })
		c.gain, c.bias, c.dy = g.normal(s.d), g.normal(s.d), g.normal(s.n, s.width)
		all = append(all, c)
		return &all[len(all)-1]
	}
	for _, unit := range []bool{false, true} {
		for _, s := range normSizes {
			add("", s, 1, 0, unit)
		}
		add(" small", normSize{3, 33, 33}, 1e-4, 0, unit)
		add(" large", normSize{3, 33, 33}, 1e4, 0, unit)
		add(" zero", normSize{3, 33, 33}, 0, 0, unit)
	}
	for _, value := range []float64{math.NaN(), math.Inf(1)} {
		s := normSize{4, 18, 9}
		c := add(fmt.Sprintf(" %g in x", value), s, 1, 0, false)
		c.x, c.infinite = c.x.with(value, 20), math.IsInf(value, 0)
		c = add(fmt.Sprintf(" %g in the gain", value), s, 1, 0, true)
		c.gain, c.infinite = c.gain.with(value, 4), math.IsInf(value, 0)
		c = add(fmt.Sprintf(" %g in dy", value), s, 1, 0, false)
		c.dy, c.infinite = c.dy.with(value, 0), math.IsInf(value, 0)
	}
	return all
}

// test makes the case of a call. The rounding of x relative to its deviation about the mean is part of the input, not of the kernel.
func (c normCase) test(call kernels.Call, in ...tensor) testCase {
	return testCase{name: c.name, call: call, in: in, terms: c.size.d, infinite: c.infinite}
}

// gradient completes the case of a backward call: the terms of dx are as large as rstd g dy, those of the sums over rows as h dy.
func (c normCase) gradient(t testCase, aux []tensor) testCase {
	t.saved = aux
	t.terms = max(c.size.d, len(aux[0].floats))
	rstd := aux[len(aux)-1].largest()
	gain := c.gain.largest()
	if c.unit {
		gain++
	}
	sums := c.dy.largest() * math.Sqrt(float64(len(aux[0].floats)))
	t.magnitude = []float64{rstd * gain * c.dy.largest(), sums, sums}
	for i, m := range t.magnitude {
		if !finite(m) {
			t.magnitude[i] = 0
		}
	}
	return t
}

func rmsNormCases(g *generator) []testCase {
	var all []testCase
	for _, c := range normCases(g, false) {
		all = append(all, c.test(kernels.RMSNorm{Eps: eps, UnitOffset: c.unit}, c.x, c.gain))
	}
	return all
}

func rmsNormGradCases(g *generator) []testCase {
	var all []testCase
	for _, c := range normCases(g, false) {
		forward := kernels.RMSNorm{Eps: eps, UnitOffset: c.unit}
		_, aux := g.forward(forward, c.x, c.gain)
		all = append(all, c.gradient(c.test(kernels.RMSNormGrad(forward), c.x, c.gain, c.dy), aux))
	}
	return all
}

func layerNormCases(g *generator) []testCase {
	var all []testCase
	for _, c := range normCases(g, true) {
		all = append(all, c.test(kernels.LayerNorm{Eps: eps, UnitOffset: c.unit}, c.x, c.gain, c.bias))
	}
	return all
}

func layerNormGradCases(g *generator) []testCase {
	var all []testCase
	for _, c := range normCases(g, true) {
		forward := kernels.LayerNorm{Eps: eps, UnitOffset: c.unit}
		_, aux := g.forward(forward, c.x, c.gain, c.bias)
		all = append(all, c.gradient(c.test(kernels.LayerNormGrad(forward), c.x, c.gain, c.bias, c.dy), aux))
	}
	return all
}

// split makes x and r of a case's x, so that their sum is x but for its last bits.
func (c normCase) split(g *generator) (x, r tensor) {
	x = g.scaled(1, c.size.n, c.size.width)
	r = x
	r.floats = append([]float64(nil), x.floats...)
	for i := range r.floats {
		r.floats[i] = g.round(c.x.floats[i] - x.floats[i])
	}
	return x, r
}

// added makes a case of a norm of a sum: the error of z is that of its terms, and what it does to y grows with rstd.
func (c normCase) added(g *generator, call kernels.Call, params ...tensor) testCase {
	x, r := c.split(g)
	t := c.test(call, append([]tensor{x, r}, params...)...)
	if c.size.n > 0 && c.x.largest() < 1e-3 { // terms cancel: the sum is only as good as they are
		t.rounding = 1 / max(c.x.largest(), 1e-4)
	}
	return t
}

func addRMSNormCases(g *generator) []testCase {
	var all []testCase
	for _, c := range normCases(g, false) {
		all = append(all, c.added(g, kernels.AddRMSNorm{Eps: eps, UnitOffset: c.unit}, c.gain))
	}
	return all
}

func addLayerNormCases(g *generator) []testCase {
	var all []testCase
	for _, c := range normCases(g, true) {
		all = append(all, c.added(g, kernels.AddLayerNorm{Eps: eps, UnitOffset: c.unit}, c.gain, c.bias))
	}
	return all
}

func addRMSNormGradCases(g *generator) []testCase {
	var all []testCase
	for _, t := range rmsNormGradCases(g) {
		c := t.call.(kernels.RMSNormGrad)
		t.call, t.in = kernels.AddRMSNormGrad(c), append(t.in, g.normal(t.in[0].shape...))
		all = append(all, t)
	}
	return all
}

func addLayerNormGradCases(g *generator) []testCase {
	var all []testCase
	for _, t := range layerNormGradCases(g) {
		c := t.call.(kernels.LayerNormGrad)
		t.call, t.in = kernels.AddLayerNormGrad(c), append(t.in, g.normal(t.in[0].shape...))
		all = append(all, t)
	}
	return all
}
