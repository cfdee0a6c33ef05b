package kerneltest

import (
	"fmt"
	"math"

	"prenorm/kernels"
)

func init() {
	register(kernels.Embed{}, family{cases: embedCases, exact: true})
	register(kernels.EmbedGrad{}, family{cases: embedGradCases, rounding: 1}) // the rounding of the result beside the sum's
	register(kernels.Rope{}, family{cases: ropeCases, rounding: 3})           // two products and their sum
	register(kernels.CacheWrite{}, family{cases: cacheWriteCases, exact: true})
}

// embedSizes are N, V, C.
var embedSizes = [][3]int{{1, 1, 1}, {0, 3, 4}, {2, 5, 3}, {7, 3, 8}, {13, 11, 15}, {16, 64, 16}, {33, 7, 33}, {65, 130, 65}, {257, 31, 64}, {3, 5, 0}, {5, 7, 6}, {4, 6, 12}}

func embedCases(g *generator) []testCase {
	var all []testCase
	for _, s := range embedSizes {
		all = append(all, testCase{name: fmt.Sprint(s), call: kernels.Embed{}, in: []tensor{g.below(s[0], s[1]), g.normal(s[1], s[2])}})
	}
	all = append(all, testCase{name: "NaN and infinity", call: kernels.Embed{}, in: []tensor{integers(2, 0, 2), g.normal(3, 5).with(math.NaN(), 11).with(math.Inf(-1), 12)}})
	for _, bad := range []int32{5, -1, math.MaxInt32} {
		all = append(all, testCase{name: fmt.Sprint("token ", bad), call: kernels.Embed{}, in: []tensor{integers(0, 1, bad, 2), g.normal(5, 4)}, fails: []string{fmt.Sprint(bad), "2", "5"}})
	}
	return all
}

func embedGradCases(g *generator) []testCase {
	var all []testCase
	for _, s := range embedSizes {
		all = append(all, testCase{name: fmt.Sprint(s), call: kernels.EmbedGrad{Vocab: s[1]}, in: []tensor{g.below(s[0], s[1]), g.normal(s[0], s[2])},
			terms: s[0], magnitude: []float64{math.Sqrt(float64(s[0]))}})
	}
	all = append(all, testCase{name: "NaN", call: kernels.EmbedGrad{Vocab: 4}, in: []tensor{integers(2, 0, 2), g.normal(3, 5).with(math.NaN(), 11)}, terms: 3, magnitude: []float64{2}})
	for _, bad := range []int32{5, -1, math.MaxInt32} {
		all = append(all, testCase{name: fmt.Sprint("token ", bad), call: kernels.EmbedGrad{Vocab: 5}, in: []tensor{integers(0, 1, bad, 2), g.normal(4, 3)}, fails: []string{fmt.Sprint(bad), "2", "5"}})
	}
	return all
}

// table is RoPE's table of P positions of head dimension d: cosines, then sines.
func (g *generator) table(positions, d int) tensor {
	return g.floats([]int{positions, d}, func(i int) float64 {
		p, j := i/d, i%d
		angle := float64(p) * math.Pow(100, -float64(j%(d/2))/float64(d/2))
		if j < d/2 {
			return math.Cos(angle)
		}
		return math.Sin(angle)
	})
}

func ropeCases(g *generator) []testCase {
	var all []testCase
	for _, inverse := range []bool{false, true} {
		c := kernels.Rope{Inverse: inverse}
		for _, s := range [][3]int{{1, 1, 2}, {0, 1, 4}, {3, 1, 4}, {2, 3, 6}, {5, 2, 8}, {7, 3, 10}, {4, 2, 16}, {3, 1, 30}, {3, 2, 32}, {5, 1, 34}, {3, 3, 64}, {2, 1, 66}, {130, 4, 32}} {
			n, heads, d := s[0], s[1], s[2]
			all = append(all, testCase{name: fmt.Sprint(s, inverse), call: c, in: []tensor{g.normal(n, heads*d), g.below(n, 19), g.table(19, d)}})
		}
		nan, inf := g.normal(3, 16).with(math.NaN(), 19), g.normal(3, 16).with(math.Inf(1), 19)
		all = append(all,
			testCase{name: "NaN", call: c, in: []tensor{nan, g.below(3, 9), g.table(9, 8)}},
			testCase{name: "infinity", call: c, in: []tensor{inf, g.below(3, 9), g.table(9, 8)}, infinite: true})
		for _, bad := range []int32{9, -1} {
			all = append(all, testCase{name: fmt.Sprint("position ", bad), call: c, in: []tensor{g.normal(3, 16), integers(0, bad, 8), g.table(9, 8)}, fails: []string{fmt.Sprint(bad), "1", "9"}})
		}
	}
	return all
}

func cacheWriteCases(g *generator) []testCase {
	var all []testCase
	add := func(b, t, context, width int, position int32) testCase {
		c := testCase{name: fmt.Sprintf("%d sequences of %d rows of %d at %d of %d", b, t, width, position, context), call: kernels.CacheWrite{T: t, Context: context},
			in: []tensor{g.normal(b*context, width), g.normal(b*t, width), integers(position)}}
		all = append(all, c)
		return c
	}
	add(1, 1, 1, 1, 0)
	add(0, 2, 5, 3, 0)
	add(1, 1, 7, 3, 6)
	add(2, 3, 7, 5, 0)
	add(3, 3, 7, 5, 4)
	add(2, 3, 7, 5, 5) // the last new row is past the context
	add(2, 8, 5, 4, 3) // more rows than there is room for
	add(2, 4, 4, 16, 0)
	add(3, 16, 64, 33, 17)
	add(2, 3, 5, 6, 1)
	for _, bad := range []int32{-1, 7} {
		add(2, 3, 7, 5, bad)
		all[len(all)-1].fails = []string{fmt.Sprint(bad), "7"}
	}
	return all
}
