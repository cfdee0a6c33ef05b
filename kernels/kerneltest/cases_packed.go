package kerneltest

import (
	"fmt"
	"math"

	"prenorm/kernels"
)

func init() {
	register(kernels.PackWeights{}, family{cases: packWeightsCases, exact: true})
	register(kernels.RoundWeights{}, family{cases: roundWeightsCases, exact: true})
	register(kernels.PackedMatMul{}, family{cases: packedMatMulCases, rounding: 4}) // as MatMul: weights are exact in float32
}

var packings = []kernels.Packing{kernels.PackBF16, kernels.PackInt8}

// packedSizes are N, K of matrices: odd numbers of runs have half a word of scales to spare.
var packedSizes = [][2]int{{1, 32}, {0, 64}, {3, 0}, {5, 96}, {4, 64}, {7, 352}, {65, 128}, {33, 1056}}

// packable makes a matrix whose runs differ in size, with runs of zeros, of one number, of numbers too small to have a scale and at the ends of
// the range, numbers in the middle between two integers of their run, and those in the middle between two bfloat16.
func packable(g *generator, n, k int) tensor {
	size := 0.0
	return g.floats([]int{n, k}, func(i int) float64 {
		run, j := i/kernels.PackRun, i%kernels.PackRun
		if j == 0 {
			size = math.Exp(4 * g.NormFloat64())
		}
		switch run % 12 {
		case 1:
			return 0
		case 2:
			return 1 + float64(2*j+1)/256
		case 3:
			return -0.37
		case 5:
			return 0x1p-149 * float64(j%3)
		case 7:
			return 3e38 * float64(1-j%3)
		case 9: // the scale is 1
			return math.Min(float64(j)*4+0.5*float64(j%2), 127) * float64(1-2*(j/2%2))
		case 11:
			return 0x1p-130 * g.NormFloat64()
		}
		return size * g.NormFloat64()
	})
}

// spoilt are matrices with a value that is not finite, and none.
func spoilt(x tensor) map[string]tensor {
	all := map[string]tensor{"": x}
	if at := len(x.floats) / 2; at > 0 {
		all[" with a NaN"], all[" with an infinity"] = x.with(math.NaN(), at), x.with(math.Inf(-1), at)
	}
	return all
}

func packWeightsCases(g *generator) []testCase {
	return packCases(g, func(p kernels.Packing) kernels.Call { return kernels.PackWeights{Packing: p} })
}

func roundWeightsCases(g *generator) []testCase {
	return packCases(g, func(p kernels.Packing) kernels.Call { return kernels.RoundWeights{Packing: p} })
}

func packCases(g *generator, call func(kernels.Packing) kernels.Call) []testCase {
	var all []testCase
	for _, p := range packings {
		for _, s := range packedSizes {
			x := packable(g, s[0], s[1])
			for _, name := range []string{"", " with a NaN", " with an infinity"} {
				if x, ok := spoilt(x)[name]; ok {
					all = append(all, testCase{name: fmt.Sprintf("%d x %d%s", s[0], s[1], name), call: call(p), in: []tensor{x}})
				}
			}
		}
	}
	return all
}

// packedRows are M: on and beside the numbers of rows at which kernels change.
var packedRows = []int{0, 1, 2, 3, 4, 5, 8, 9, 16, 63, 64, 70}

func packedMatMulCases(g *generator) []testCase {
	var all []testCase
	add := func(c kernels.PackedMatMul, m int, w tensor, name string, infinite bool) {
		n, k := w.shape[0], w.shape[1]
		words, _ := g.forward(kernels.PackWeights{Packing: c.Packing}, w)
		t := testCase{name: fmt.Sprintf("%d x %d x %d%s", m, n, k, name), call: c, in: append([]tensor{g.normal(m, k)}, words...), terms: k,
			magnitude: []float64{math.Sqrt(float64(k))}, infinite: infinite}
		if c.Bias {
			t.in = append(t.in, g.normal(n))
		}
		if c.Residual {
			t.in = append(t.in, g.normal(m, n))
		}
		all = append(all, t)
	}
	for _, p := range packings {
		for i, m := range packedRows {
			for j, s := range append(packedSizes, [2]int{300, 64}) {
				mode := i + j
				c := kernels.PackedMatMul{Packing: p, Bias: mode&1 != 0, Residual: mode&2 != 0}
				add(c, m, g.normal(s[0], s[1]), "", false)
			}
		}
		w := g.normal(9, 96)
		for _, m := range []int{1, 8, 40} {
			add(kernels.PackedMatMul{Packing: p}, m, w.with(math.NaN(), 100), " with a NaN", false)
			add(kernels.PackedMatMul{Packing: p}, m, w.with(math.Inf(1), 100), " with an infinity", true)
		}
	}
	return all
}
