package kerneltest

import (
	"fmt"
	"math"

	"prenorm/kernels"
)

func init() {
	// The exponential of a difference of scores and log-sum-exp, each good to an epsilon times its size (that is each case's own
	// rounding), and a vector exponential good to a few units in the last place. With BF16 views the weights of a row, which add up to 1, are
	// rounded to BF16 for their product with v: that moves their mean of v by half an epsilon of v's largest element at most.
	register(kernels.Attention{}, family{cases: attentionCases, rounding: 12, narrow: 1})
	// The same twice over: p, and ds with D in it. With BF16 views both are rounded. A row of ds adds up to no more than the magnitude has; a
	// column of p or ds, over all queries, may to a few times that, but roundings of many terms are random in sign.
	register(kernels.AttentionGrad{}, family{cases: attentionGradCases, rounding: 24, narrow: 2})
}

// attentionShape is one attention problem.
type attentionShape struct {
	b, t, heads, kv, d int
	window             int
	softcap            float64
	documents          string // "" = none, "runs", "mixed" (ids that come back), "one"
}

var attentionShapes = []attentionShape{
	{b: 1, t: 1, heads: 1, kv: 1, d: 1},
	{b: 0, t: 3, heads: 2, kv: 1, d: 4},
	{b: 2, t: 2, heads: 2, kv: 2, d: 2},
	{b: 3, t: 1, heads: 2, kv: 2, d: 8, softcap: 3},
	{b: 1, t: 3, heads: 3, kv: 1, d: 5},
	{b: 2, t: 7, heads: 4, kv: 2, d: 8},
	{b: 1, t: 8, heads: 2, kv: 2, d: 16, window: 3},
	{b: 2, t: 9, heads: 6, kv: 2, d: 7, window: 1},
	{b: 1, t: 15, heads: 1, kv: 1, d: 16, softcap: 2},
	{b: 2, t: 16, heads: 2, kv: 1, d: 15, window: 16},
	{b: 1, t: 17, heads: 2, kv: 2, d: 17, window: 8, softcap: 5},
	{b: 2, t: 31, heads: 2, kv: 1, d: 32, documents: "runs"},
	{b: 1, t: 32, heads: 4, kv: 1, d: 32, documents: "mixed"},
	{b: 2, t: 33, heads: 2, kv: 2, d: 33, documents: "one", window: 20},
	{b: 1, t: 33, heads: 3, kv: 3, d: 20, documents: "runs", window: 5, softcap: 4},
	{b: 1, t: 63, heads: 2, kv: 1, d: 64, window: 64},
	{b: 1, t: 64, heads: 1, kv: 1, d: 64, window: 31},
	{b: 1, t: 65, heads: 2, kv: 1, d: 40, window: 65, documents: "mixed"},
	{b: 2, t: 130, heads: 2, kv: 1, d: 32},
	{b: 1, t: 131, heads: 2, kv: 2, d: 16, window: 37, softcap: 6, documents: "runs"},
	{b: 1, t: 40, heads: 1, kv: 1, d: 128},
}

func (s attentionShape) call() kernels.Attention {
	return kernels.Attention{Heads: s.heads, KVHeads: s.kv, HeadDim: s.d, T: s.t, Scale: 1 / math.Sqrt(float64(s.d)), Softcap: s.softcap, Window: s.window}
}

func (s attentionShape) String() string {
	return fmt.Sprintf("B=%d T=%d H=%d KV=%d D=%d documents=%q", s.b, s.t, s.heads, s.kv, s.d, s.documents)
}

// inputs makes q, k, v and, where the shape has them, documents.
func (s attentionShape) inputs(g *generator, spread float64) []tensor {
	n := s.b * s.t
	in := []tensor{g.scaled(spread, n, s.heads*s.d), g.scaled(spread, n, s.kv*s.d), g.normal(n, s.kv*s.d)}
	if s.documents == "" {
		return in
	}
	ids := tensor{shape: []int{n}, ints: make([]int32, n)}
	id := int32(0)
	for i := range ids.ints {
		switch {
		case s.documents == "runs" && g.IntN(6) == 0:
			id++
		case s.documents == "mixed":
			id = g.Int32N(4) - 1
		}
		ids.ints[i] = id
	}
	return append(in, ids)
}

// attentionTest makes the case of a forward call: scores, and with them exponents, are as large as the log-sum-exp and half as much again.
func attentionTest(g *generator, name string, c kernels.Attention, in []tensor) testCase {
	t := testCase{name: name, call: c, in: in, terms: max(c.T, c.HeadDim), magnitude: []float64{terms(in[2])}}
	_, aux := g.forward(c, in...)
	if lse := aux[0].largest(); finite(lse) {
		t.rounding = 2 * lse
	}
	return t
}

// terms is the size of the terms of a mean of x, or 0 where that is not finite.
func terms(x tensor) float64 {
	if m := x.largest(); finite(m) {
		return m
	}
	return 0
}

// extremes are shapes with scores that overflow an exponential, and with values that are not finite. NaN and infinities sit where
// every row of their sequence sees them, or in the query of one row, so that no masked element decides the result.
func extremes(g *generator, add func(name string, s attentionShape, in []tensor, infinite bool)) {
	s := attentionShape{b: 2, t: 9, heads: 2, kv: 1, d: 8}
	add("large scores", s, s.inputs(g, 12), false)
	equal := s.inputs(g, 0)
	add("equal scores", s, equal, false)
	for _, value := range []float64{math.NaN(), math.Inf(1)} {
		for i, at := range []int{4*16 + 3, 9*8 + 2, 9*8 + 5} { // q of row 4; k and v of the second sequence's first row
			in := s.inputs(g, 1)
			in[i] = in[i].with(value, at)
			add(fmt.Sprintf("%g in input %d", value, i), s, in, math.IsInf(value, 0))
		}
	}
}

// hidden are shapes with values that are not finite in one row, of inputs 0, 1 and 2, which rows before it, behind its window and of other
// documents do not see: their results must be those of finite values.
func hidden(g *generator, add func(name string, s attentionShape, in []tensor, infinite bool)) {
	const row = 20
	for _, s := range []attentionShape{
		{b: 2, t: 70, heads: 2, kv: 1, d: 8, documents: "runs", window: 17},
		{b: 1, t: 67, heads: 2, kv: 2, d: 40, documents: "mixed"},
		{b: 1, t: 35, heads: 1, kv: 1, d: 72, documents: "mixed", window: 7, softcap: 4},
		{b: 1, t: 36, heads: 1, kv: 1, d: 104, documents: "mixed", window: 9},
		{b: 1, t: 34, heads: 1, kv: 1, d: 136, documents: "mixed", window: 11},
	} {
		for i, value := range []float64{math.NaN(), math.NaN(), math.Inf(-1)} {
			in := s.inputs(g, 1)
			in[i] = in[i].with(value, (row+1)*in[i].shape[1]-1)
			add(fmt.Sprintf(" %g in row %d of input %d", value, row, i), s, in, math.IsInf(value, 0))
		}
	}
}

// lost are shapes in which the scores of some keys are minus infinity for every row that sees them: of whole tiles that come first, of tiles
// between others, and of single keys. Such keys weigh nothing. A row that sees no other has no result: NaN.
func lost(g *generator, add func(name string, s attentionShape, in []tensor, infinite bool)) {
	for _, c := range []struct {
		attentionShape
		keys func(j int) bool
		name string
	}{
		{attentionShape{b: 1, t: 140, heads: 2, kv: 1, d: 8}, func(j int) bool { return j < 64 }, "the first 64 keys"},
		{attentionShape{b: 1, t: 140, heads: 2, kv: 1, d: 8}, func(j int) bool { return j/64 == 1 }, "keys 64 to 127"},
		{attentionShape{b: 2, t: 140, heads: 1, kv: 1, d: 40, window: 20}, func(j int) bool { return j/32 == 1 || j/64 == 1 }, "keys 32 to 127"},
		{attentionShape{b: 1, t: 70, heads: 1, kv: 1, d: 72}, func(j int) bool { return j < 32 }, "the first 32 keys"},
		{attentionShape{b: 1, t: 50, heads: 1, kv: 1, d: 136, documents: "runs"}, func(j int) bool { return j/8%2 == 0 }, "every other 8 keys"},
		{attentionShape{b: 1, t: 33, heads: 2, kv: 2, d: 5}, func(j int) bool { return j%2 == 0 }, "every other key"},
		{attentionShape{b: 1, t: 33, heads: 2, kv: 2, d: 5, softcap: 3}, func(j int) bool { return j%2 == 0 }, "before the cap, every other key"},
		{attentionShape{b: 2, t: 9, heads: 2, kv: 1, d: 8}, func(int) bool { return true }, "all keys"},
	} {
		in := c.inputs(g, 1)
		in[0], in[1] = lose(g, in[0], in[1], c.d, func(row int) bool { return c.keys(row % c.t) })
		add(" scores of -Inf: "+c.name, c.attentionShape, in, true)
	}
}

// lose makes the first element of every query and head of q positive, and that of the keys of some rows of k minus infinite.
func lose(g *generator, q, k tensor, dim int, keys func(row int) bool) (queries, lost tensor) {
	q, k = q.with(0), k.with(0)
	for i := 0; i < len(q.floats); i += dim {
		q.floats[i] = g.round(0.5 + math.Abs(q.floats[i]))
	}
	for i := 0; i < len(k.floats); i += dim {
		if keys(i / k.shape[1]) {
			k.floats[i] = math.Inf(-1)
		}
	}
	return q, k
}

func attentionCases(g *generator) []testCase {
	var all []testCase
	add := func(name string, s attentionShape, in []tensor, infinite bool) {
		t := attentionTest(g, fmt.Sprint(s, name), s.call(), in)
		t.infinite = infinite
		all = append(all, t)
	}
	extremes(g, add)
	hidden(g, add)
	lost(g, add)
	windows(g, add)
	for _, s := range attentionShapes {
		add("", s, s.inputs(g, 1.5), false)
	}
	return all
}

func attentionGradCases(g *generator) []testCase {
	var all []testCase
	add := func(name string, s attentionShape, in []tensor, infinite bool) {
		c := s.call()
		forward := attentionTest(g, "", c, in)
		out, aux := g.forward(c, in...)
		dy := g.normal(s.b*s.t, s.heads*s.d)
		t := testCase{name: fmt.Sprint(s, name), call: kernels.AttentionGrad(c), saved: aux, rounding: forward.rounding, infinite: infinite}
		t.in = append(append([]tensor{}, in[:3]...), out[0], dy)
		t.in = append(t.in, in[3:]...)
		group := s.heads / s.kv
		t.terms = max(s.t*group, s.d)
		// ds is a difference of dy·v and dy·y, each as large as a few times the root of D.
		ds := 4 * math.Sqrt(float64(s.d)) * c.Scale
		t.magnitude = []float64{ds * terms(in[1]), ds * terms(in[0]), terms(dy)}
		all = append(all, t)
	}
	for _, s := range attentionShapes {
		add("", s, s.inputs(g, 1.5), false)
	}
	extremes(g, add)
	hidden(g, add)
	lost(g, add)
	windows(g, add)
	// A NaN in the gradient of a sequence's last row reaches every key that it sees.
	s := attentionShape{b: 2, t: 9, heads: 2, kv: 1, d: 8}
	add(" NaN in dy", s, s.inputs(g, 1), false)
	last := &all[len(all)-1]
	last.in[4] = last.in[4].with(math.NaN(), 8*16+5)
	return all
}
