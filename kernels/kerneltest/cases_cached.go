package kerneltest

import (
	"fmt"
	"math"

	"prenorm/kernels"
)

func init() {
	register(kernels.CachedAttention{}, family{cases: cachedAttentionCases, rounding: 12})
}

// cachedShape is one problem of new rows against a cache.
type cachedShape struct {
	b, t, context, heads, kv, d, position, window int
	softcap                                       float64
}

var cachedShapes = []cachedShape{
	{b: 1, t: 1, context: 1, heads: 1, kv: 1, d: 1},
	{b: 0, t: 2, context: 4, heads: 2, kv: 1, d: 4},
	{b: 1, t: 1, context: 7, heads: 2, kv: 2, d: 3, position: 6},
	{b: 2, t: 1, context: 33, heads: 4, kv: 2, d: 8, position: 17},
	{b: 2, t: 3, context: 9, heads: 6, kv: 2, d: 5, position: 2, window: 2},
	{b: 1, t: 4, context: 16, heads: 2, kv: 1, d: 16, position: 12, softcap: 3},
	{b: 1, t: 4, context: 16, heads: 2, kv: 1, d: 16, position: 14},           // two rows past the context
	{b: 2, t: 7, context: 16, heads: 2, kv: 1, d: 4, position: 14, window: 4}, // the last rows see nothing of the cache
	{b: 1, t: 40, context: 16, heads: 1, kv: 1, d: 4, position: 15, window: 2},
	{b: 3, t: 8, context: 65, heads: 2, kv: 2, d: 32, position: 31, window: 16},
	{b: 1, t: 16, context: 16, heads: 2, kv: 2, d: 33, position: 0},
	{b: 1, t: 1, context: 200, heads: 8, kv: 2, d: 64, position: 199, window: 77, softcap: 5},
	{b: 2, t: 32, context: 130, heads: 2, kv: 1, d: 64, position: 64},
	{b: 1, t: 2, context: 1100, heads: 2, kv: 1, d: 20, position: 1000}, // long enough for a backend to divide
	{b: 2, t: 1, context: 600, heads: 4, kv: 2, d: 72, position: 30, softcap: 4},
	{b: 1, t: 3, context: 700, heads: 1, kv: 1, d: 8, position: 690, window: 300},
	{b: 1, t: 3, context: 600, heads: 1, kv: 1, d: 8, position: 599, window: 2}, // the last row sees nothing
}

// stale is what rows of a cache hold that no query may see.
const stale = 1e4

func (s cachedShape) test(g *generator) testCase {
	c := kernels.CachedAttention{Heads: s.heads, KVHeads: s.kv, HeadDim: s.d, T: s.t, Context: s.context, Scale: 1 / math.Sqrt(float64(s.d)), Softcap: s.softcap, Window: s.window}
	cache := func() tensor {
		return g.floats([]int{s.b * s.context, s.kv * s.d}, func(i int) float64 {
			if i/(s.kv*s.d)%s.context >= s.position+s.t {
				return stale
			}
			return 1.5 * g.NormFloat64()
		})
	}
	return testCase{name: fmt.Sprintf("%+v", s), call: c, terms: max(s.context, s.d), rounding: 24, magnitude: []float64{1},
		in: []tensor{g.scaled(1.5, s.b*s.t, s.heads*s.d), cache(), cache(), integers(int32(s.position))}}
}

func cachedAttentionCases(g *generator) []testCase {
	var all []testCase
	for _, s := range cachedShapes {
		all = append(all, s.test(g))
	}
	nan := cachedShape{b: 2, t: 2, context: 9, heads: 2, kv: 1, d: 8, position: 4}.test(g)
	nan.name, nan.in[0] = "NaN in a query", nan.in[0].with(math.NaN(), 16+9)
	all = append(all, nan)
	all = append(all, unseenCases(g)...)
	for _, s := range []struct {
		cachedShape
		keys func(j int) bool
		name string
	}{
		{cachedShape{b: 2, t: 2, context: 9, heads: 2, kv: 1, d: 8, position: 7}, func(j int) bool { return j < 4 }, "the first 4 keys"},
		{cachedShape{b: 1, t: 2, context: 140, heads: 2, kv: 2, d: 8, position: 120}, func(j int) bool { return j < 16 || j/16 == 3 }, "keys 0 to 15 and 48 to 63"},
		{cachedShape{b: 1, t: 2, context: 600, heads: 2, kv: 1, d: 8, position: 598}, func(j int) bool { return j < 300 }, "the first 300 keys"},
		{cachedShape{b: 1, t: 2, context: 600, heads: 2, kv: 1, d: 72, position: 590}, func(j int) bool { return j/200 == 1 }, "keys 200 to 399"},
		{cachedShape{b: 1, t: 20, context: 600, heads: 1, kv: 1, d: 8, position: 100, window: 9}, func(j int) bool { return j < 115 }, "keys 0 to 114"},
		{cachedShape{b: 1, t: 2, context: 9, heads: 1, kv: 1, d: 8, position: 5}, func(int) bool { return true }, "all keys"},
		{cachedShape{b: 1, t: 3, context: 600, heads: 1, kv: 1, d: 8, position: 599, window: 2}, func(int) bool { return true }, "all keys, and the last row sees none"},
	} {
		c := s.test(g)
		c.name, c.infinite = "scores of -Inf: "+s.name, true
		c.in[0], c.in[1] = lose(g, c.in[0], c.in[1], s.d, func(row int) bool { return s.keys(row % s.context) })
		all = append(all, c)
	}
	// Scores so low that a place without a key, had it the score 0, would take all weight.
	for _, n := range []int{1, 2, 3, 5, 18, 301} {
		s := cachedShape{b: 1, t: 1, context: n + 2, heads: 1, kv: 1, d: 8, position: n - 1}
		c := s.test(g)
		c.name, c.rounding = fmt.Sprintf("%d keys of very low scores", n), 900
		c.in[0] = g.floats(c.in[0].shape, func(int) float64 { return 20 })
		c.in[1] = g.floats(c.in[1].shape, func(int) float64 { return -16 + 0.1*g.NormFloat64() })
		all = append(all, c)
	}
	for _, context := range []int{9, 900} {
		for _, bad := range []int{-1, context} {
			c := cachedShape{b: 1, t: 2, context: context, heads: 1, kv: 1, d: 4, position: bad}.test(g)
			c.fails = []string{fmt.Sprint(bad), fmt.Sprint(context)}
			all = append(all, c)
		}
	}
	return all
}

// unseenCases hold values that are not finite in a row of the cache that some of the new rows see and others, before it and behind its window, do
// not: the results of these are those of finite values.
func unseenCases(g *generator) (all []testCase) {
	for _, s := range []cachedShape{
		{b: 2, t: 3, context: 40, heads: 2, kv: 1, d: 16, position: 20, window: 5},
		{b: 1, t: 4, context: 12, heads: 1, kv: 1, d: 7, position: 6},
		{b: 1, t: 17, context: 64, heads: 6, kv: 3, d: 64, position: 30, window: 6, softcap: 4},
		{b: 1, t: 60, context: 70, heads: 2, kv: 2, d: 20, position: 12, window: 40},
	} {
		for _, value := range []float64{math.NaN(), math.Inf(1)} {
			for _, row := range []int{s.position + s.t/2, max(s.position-s.window+1, 0)} {
				c := s.test(g)
				c.name += fmt.Sprintf(", %g in value %d", value, row)
				c.in[2], c.infinite = c.in[2].with(value, (row+1)*s.kv*s.d-1), math.IsInf(value, 0)
				all = append(all, c)
			}
		}
	}
	return all
}
