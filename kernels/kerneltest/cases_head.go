package kerneltest

import (
	"fmt"
	"math"

	"prenorm/kernels"
)

func init() {
	// As attention's: exponentials of differences as large as the case's logits.
	register(kernels.LinearCrossEntropy{}, family{cases: headCases, rounding: 12})
	// The gradient by the logits may be rounded to BF16 before the products that follow: an error of one unit of each term. Those of a row
	// sum to no more than 2, and their errors have any sign.
	register(kernels.LinearCrossEntropyGrad{}, family{cases: headGradCases, rounding: 12, narrow: 1, twin: headTwin})
}

// headTwin is the loss alone, whose bits the gradient's loss must have.
func headTwin(c testCase) (twin testCase, of int) {
	twin = c
	twin.call = kernels.LinearCrossEntropy(c.call.(kernels.LinearCrossEntropyGrad))
	twin.in = c.in[:4]
	return twin, 2
}

// headSizes are N, C, V.
var headSizes = [][3]int{
	{1, 1, 1}, {1, 1, 2}, {3, 4, 5}, {7, 5, 16}, {8, 8, 17}, {5, 16, 1}, {1, 33, 65}, {17, 15, 31}, {16, 32, 64}, {33, 31, 101}, {65, 17, 257}, {64, 64, 128},
	{70, 24, 517}, {0, 3, 4}, {30, 20, 1100},
}

// headTest makes the case of a loss; ignored is how often a target is: 0 = never, 1 = always.
func headTest(g *generator, n, c, v int, softcap, deviation, ignored float64) testCase {
	x, w := g.normal(n, c), g.scaled(deviation/math.Sqrt(float64(c)), v, c)
	targets := g.below(n, v)
	counted := 0
	for i := range targets.ints {
		if g.Float64() < ignored {
			targets.ints[i] = []int32{-1, -100}[i%2]
		} else {
			counted++
		}
	}
	normaliser := max(1, float64(counted))
	t := testCase{name: fmt.Sprintf("N=%d C=%d V=%d deviation %g, ignored %g", n, c, v, deviation, ignored), call: kernels.LinearCrossEntropy{Softcap: softcap},
		in: []tensor{x, w, targets, g.list(normaliser)}, terms: max(n, c, v)}
	logit := largestLogit(x, w)
	if softcap > 0 {
		logit = min(logit, softcap)
	}
	t.rounding = 2 * logit
	t.magnitude = []float64{float64(counted) / normaliser}
	return t
}

// largestLogit is the largest absolute value of x Wᵀ.
func largestLogit(x, w tensor) float64 {
	n, v, c := x.shape[0], w.shape[0], w.shape[1]
	largest := 0.0
	for i := range n {
		for j := range v {
			z := 0.0
			for k := range c {
				z += x.floats[i*c+k] * w.floats[j*c+k]
			}
			largest = max(largest, math.Abs(z))
		}
	}
	return largest
}

func headCases(g *generator) []testCase {
	var all []testCase
	for _, softcap := range []float64{0, 3} {
		for _, s := range headSizes {
			for _, ignored := range []float64{0, 0.4} {
				all = append(all, headTest(g, s[0], s[1], s[2], softcap, 2, ignored))
			}
		}
		all = append(all, headTest(g, 9, 8, 21, softcap, 2, 1), headTest(g, 9, 8, 21, softcap, 80, 0.3))
	}
	for _, at := range []int{0, 1} {
		t := headTest(g, 9, 8, 21, 0, 1, 0)
		t.name, t.in[at] = fmt.Sprint("NaN in input ", at), t.in[at].with(math.NaN(), 17)
		all = append(all, t)
	}
	all = append(all, ignoredCases(g)...)
	t := headTest(g, 9, 8, 21, 0, 1, 0)
	t.name, t.in[2].ints[4], t.fails = "target 21", 21, []string{"21", "4"}
	all = append(all, t)
	return append(all, headTest(g, 70, 40, 300, 4, 2, 0.2))
}

// ignoredCases hold what is not finite in W and in rows whose target is ignored: these have the gradient zero, and add zero to that of W.
func ignoredCases(g *generator) (all []testCase) {
	for _, value := range []float64{math.NaN(), math.Inf(1)} {
		for _, ignored := range []float64{0.4, 1} {
			t := headTest(g, 9, 8, 21, 0, 1, ignored)
			t.in[2].ints[0] = -1 // of row 0, whatever the others are
			t.name += fmt.Sprintf(", %g in W and in ignored rows", value)
			t.in[1] = t.in[1].with(value, 3, 17, 20*8+7)
			for row, target := range t.in[2].ints {
				if target < 0 {
					t.in[0] = t.in[0].with(value, row*8+row%8)
				}
			}
			t.rounding, t.infinite = 0, math.IsInf(value, 0)
			all = append(all, t)
		}
		t := headTest(g, 9, 8, 21, 0, 1, 0)
		t.in[2].ints[3] = -100
		t.name, t.in[0] = fmt.Sprintf("%g in an ignored row", value), t.in[0].with(value, 3*8+2)
		all = append(all, t)
	}
	return all
}

func headGradCases(g *generator) []testCase {
	all := headCases(g)
	for i := range all {
		t := &all[i]
		t.call = kernels.LinearCrossEntropyGrad(t.call.(kernels.LinearCrossEntropy))
		dloss := []float64{1, -0.7}[i%2]
		t.in = append(t.in, g.scalar(dloss))
		// Gradients are sums of (p - 1) dloss / normaliser times W or x.
		each := math.Abs(dloss) / t.in[3].floats[0]
		t.magnitude = []float64{each * finiteLargest(t.in[1]), each * finiteLargest(t.in[0]), t.magnitude[0]}
	}
	return all
}

// finiteLargest is the largest finite absolute value.
func finiteLargest(x tensor) float64 {
	m := 0.0
	for _, v := range x.floats {
		if finite(v) {
			m = max(m, math.Abs(v))
		}
	}
	return m
}
