package kerneltest

import (
	"math"

	"prenorm/kernels"
)

func init() {
	// Each sum over runs is good to its length; a square root, a division and products come on top, and the difference x - mean.
	register(kernels.BatchNorm{}, family{cases: batchNormCases, rounding: 10})
	register(kernels.BatchNormGrad{}, family{cases: batchNormGradCases, rounding: 20})
	register(kernels.BatchNormUpdate{}, family{cases: batchNormUpdateCases, rounding: 6})
	register(kernels.BatchNormInference{}, family{cases: batchNormInferenceCases, rounding: 8})
}

// batchCases are the cases of norms that have more than one run, as one run alone is its own mean, which leaves rounding errors only.
func batchCases(g *generator) []normCase {
	var all []normCase
	for _, c := range normCases(g, true) {
		if runs := len(c.x.floats) / c.size.d; runs != 1 {
			all = append(all, c)
		}
	}
	return all
}

// runs is over how many runs the statistics of a case are.
func (c normCase) runs() int { return len(c.x.floats) / c.size.d }

func batchNormCases(g *generator) []testCase {
	var all []testCase
	for _, c := range batchCases(g) {
		t := c.test(kernels.BatchNorm{Eps: eps, UnitOffset: c.unit}, c.x, c.gain, c.bias)
		t.terms = c.runs()
		// Where few values happen to be close to each other, what is left of them has fewer digits.
		t.magnitude = []float64{c.scale(g)}
		all = append(all, t)
	}
	return all
}

// scale is the size of x rstd, which the result is a difference of, or 0 where there is none.
func (c normCase) scale(g *generator) float64 {
	if len(c.x.floats) == 0 {
		return 0
	}
	_, aux := g.forward(kernels.BatchNorm{Eps: eps, UnitOffset: c.unit}, c.x, c.gain, c.bias)
	gain := c.gain.largest() + 1
	if s := c.x.largest() * aux[1].largest() * gain; finite(s) {
		return s
	}
	return 0
}

func batchNormGradCases(g *generator) []testCase {
	var all []testCase
	for _, c := range batchCases(g) {
		forward := kernels.BatchNorm{Eps: eps, UnitOffset: c.unit}
		_, aux := g.forward(forward, c.x, c.gain, c.bias)
		t := c.test(kernels.BatchNormGrad(forward), c.x, c.gain, c.bias, c.dy)
		t.saved, t.terms = aux, max(c.runs(), 1)
		h := 1.0
		if len(c.x.floats) > 0 {
			h = max(1, c.x.largest()*aux[1].largest())
		}
		sums := c.dy.largest() * math.Sqrt(float64(t.terms)) * h
		t.magnitude = []float64{aux[1].largest() * (c.gain.largest() + 1) * c.dy.largest() * h * h, sums, sums}
		for i, m := range t.magnitude {
			if !finite(m) {
				t.magnitude[i] = 0
			}
		}
		all = append(all, t)
	}
	return all
}

func batchNormUpdateCases(g *generator) []testCase {
	var all []testCase
	for _, c := range normCases(g, true) { // a single run has a mean, and no variance
		running := g.floats([]int{2, c.size.d}, func(i int) float64 { return g.NormFloat64() + float64(2*(i/c.size.d)) })
		t := c.test(kernels.BatchNormUpdate{Momentum: 0.1}, running, c.x)
		t.terms, t.magnitude = c.runs(), []float64{square(c.x.largest())}
		if !finite(t.magnitude[0]) {
			t.magnitude[0] = 0
		}
		all = append(all, t)
	}
	return all
}

func square(x float64) float64 { return x * x }

func batchNormInferenceCases(g *generator) []testCase {
	var all []testCase
	for _, c := range normCases(g, true) {
		running := g.floats([]int{2, c.size.d}, func(i int) float64 {
			if i < c.size.d {
				return g.NormFloat64()
			}
			return 0.1 + g.ExpFloat64()
		})
		t := c.test(kernels.BatchNormInference{Eps: eps, UnitOffset: c.unit}, c.x, c.gain, c.bias, running)
		t.magnitude = []float64{4 * (c.gain.largest() + 1) * max(1, c.x.largest())}
		if !finite(t.magnitude[0]) {
			t.magnitude[0] = 0
		}
		all = append(all, t)
	}
	return all
}
