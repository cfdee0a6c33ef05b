package ref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prenorm/kernels"
)

func matrix(columns int, values ...float64) kernels.View {
	return kernels.HostView(values, len(values)/columns, columns)
}

func vector(values ...float64) kernels.View { return kernels.HostView(values, len(values)) }

func number(x float64) kernels.View { return kernels.HostView([]float64{x}) }

// figure is a call whose results were worked out by hand.
type figure struct {
	call kernels.Call
	in   []kernels.View
	out  [][]float64
	aux  [][]float64
}

var (
	root2 = math.Sqrt2
	hand  = []figure{
		{call: kernels.MatMul{}, in: []kernels.View{matrix(2, 1, 2, 3, 4), matrix(2, 5, 6, 7, 8)}, out: [][]float64{{19, 22, 43, 50}}},
		{call: kernels.MatMul{TransA: true}, in: []kernels.View{matrix(2, 1, 2, 3, 4), matrix(2, 5, 6, 7, 8)}, out: [][]float64{{26, 30, 38, 44}}},
		{call: kernels.MatMul{TransB: true}, in: []kernels.View{matrix(2, 1, 2, 3, 4), matrix(2, 5, 6, 7, 8)}, out: [][]float64{{17, 23, 39, 53}}},
		{call: kernels.AddBias{}, in: []kernels.View{matrix(2, 1, 2, 3, 4), vector(10, 20)}, out: [][]float64{{11, 22, 13, 24}}},
		{call: kernels.SumRows{}, in: []kernels.View{matrix(2, 1, 2, 3, 4)}, out: [][]float64{{4, 6}}},
		{call: kernels.Add{}, in: []kernels.View{vector(1, 2), vector(3, 5)}, out: [][]float64{{4, 7}}},
		{call: kernels.Scale{Factor: -2}, in: []kernels.View{vector(1, 2)}, out: [][]float64{{-2, -4}}},
		{call: kernels.Softcap{Cap: 2}, in: []kernels.View{vector(0, 1e9, 2)}, out: [][]float64{{0, 2, 2 * math.Tanh(1)}}},
		{call: kernels.Embed{}, in: []kernels.View{ids(2, 0, 2), matrix(2, 1, 2, 3, 4, 5, 6)}, out: [][]float64{{5, 6, 1, 2, 5, 6}}},
		{call: kernels.EmbedGrad{Vocab: 3}, in: []kernels.View{ids(2, 0, 2), matrix(2, 1, 2, 3, 4, 5, 6)}, out: [][]float64{{3, 4, 0, 0, 6, 8}}},
		{call: kernels.RMSNorm{}, in: []kernels.View{matrix(2, 3, 4), vector(1, 2)}, out: [][]float64{{0.6 * root2, 1.6 * root2}}, aux: [][]float64{{0.2 * root2}}},
		{call: kernels.RMSNorm{UnitOffset: true}, in: []kernels.View{matrix(2, 3, 4), vector(0, 1)}, out: [][]float64{{0.6 * root2, 1.6 * root2}}, aux: [][]float64{{0.2 * root2}}},
		{call: kernels.RMSNorm{Eps: 3}, in: []kernels.View{matrix(2, 1, 1), vector(1)}, out: [][]float64{{0.5, 0.5}}, aux: [][]float64{{0.5, 0.5}}}, // two heads of one
		{call: kernels.LayerNorm{Eps: 3}, in: []kernels.View{matrix(2, 1, 3), vector(1, 2), vector(10, 20)}, out: [][]float64{{9.5, 21}}, aux: [][]float64{{2}, {0.5}}},
		{call: kernels.LayerNorm{Eps: 3, UnitOffset: true}, in: []kernels.View{matrix(2, 1, 3), vector(0, 1), vector(10, 20)}, out: [][]float64{{9.5, 21}}, aux: [][]float64{{2}, {0.5}}},
		// Position 1 of the table turns the first pair by 90 degrees and leaves the second.
		{call: kernels.Rope{}, in: []kernels.View{matrix(4, 1, 2, 3, 4), ids(1), matrix(4, 1, 1, 0, 0, 0, 1, 1, 0)}, out: [][]float64{{-3, 2, 1, 4}}},
		{call: kernels.Rope{Inverse: true}, in: []kernels.View{matrix(4, 1, 2, 3, 4), ids(1), matrix(4, 1, 1, 0, 0, 0, 1, 1, 0)}, out: [][]float64{{3, 2, -1, 4}}},
		{call: kernels.CacheWrite{T: 2, Context: 3}, in: []kernels.View{matrix(1, 1, 2, 3, 4, 5, 6), matrix(1, 10, 20, 30, 40), ids(1)}, out: [][]float64{{1, 10, 20, 4, 30, 40}}},
		{call: kernels.CacheWrite{T: 2, Context: 3}, in: []kernels.View{matrix(1, 1, 2, 3), matrix(1, 10, 20), ids(2)}, out: [][]float64{{1, 2, 10}}},
		{call: kernels.Activation{Kind: "silu"}, in: []kernels.View{vector(0, 1, -2)}, out: [][]float64{{0, 0.7310585786300049, -0.2384058440442351}}},
		{call: kernels.Activation{Kind: "gelu_tanh"}, in: []kernels.View{vector(0, 1, -1)}, out: [][]float64{{0, 0.8411919906082768, -0.15880800939172324}}},
		{call: kernels.ActivationGrad{Kind: "silu"}, in: []kernels.View{vector(0, 0), vector(4, -2)}, out: [][]float64{{2, -1}}},
		{call: kernels.GatedActivation{Kind: "silu"}, in: []kernels.View{vector(1, 0), vector(2, 7)}, out: [][]float64{{1.4621171572600098, 0}}},
		{call: kernels.GatedActivationGrad{Kind: "silu"}, in: []kernels.View{vector(0), vector(6), vector(5)}, out: [][]float64{{15}, {0}}},
		{call: kernels.GlobalNorm{}, in: []kernels.View{matrix(2, 1, 2, 2, 4)}, out: [][]float64{{5}}},
		{call: kernels.ClipFactor{Max: 1}, in: []kernels.View{vector(4), number(3), vector(3, 4)}, out: [][]float64{{1 / 4.000001}}},
		{call: kernels.ClipFactor{Max: 8}, in: []kernels.View{vector(4), number(3), vector(3, 4)}, out: [][]float64{{1}}},
		{call: kernels.ClipFactor{}, in: []kernels.View{vector(4), number(3), vector(3, 4)}, out: [][]float64{{1}}},
		{call: kernels.AdamW{Beta1: 0.9, Beta2: 0.99, WeightDecay: 0.01}, in: []kernels.View{vector(1), vector(0), vector(0), vector(1), vector(0.1, 0.1, 0.01, 0.5)},
			out: [][]float64{{0.899}, {0.05}, {0.0025}}},
		{call: kernels.SGD{Momentum: 0.9, WeightDecay: 0.01}, in: []kernels.View{vector(1), vector(2), vector(1), vector(0.1, 1, 1, 0.5)}, out: [][]float64{{0.769}, {2.3}}},
		// Logits of zero: every token has the probability 1/4.
		{call: kernels.LinearCrossEntropy{}, in: []kernels.View{matrix(2, 0, 0, 1, 1, 0, 0), matrix(2, 1, 2, 3, 4, 5, 6, 7, 8), ids(1, -1, 3), vector(2)}, out: [][]float64{{math.Log(4)}}},
		{call: kernels.LinearCrossEntropyGrad{}, in: []kernels.View{matrix(1, 0, 3), matrix(1, 2, 4), ids(1, -100), vector(1), kernels.HostView([]float64{2})},
			out: [][]float64{{2 * (0.5*2 - 0.5*4), 0}, {0, 0}, {math.Log(2)}}},
	}
)

// TestFigures compares with results worked out by hand.
func TestFigures(t *testing.T) {
	for _, f := range append(hand, attentionFigures()...) {
		b := bind(t, f.call, nil, f.in...)
		launch(t, b)
		for i, want := range f.out {
			near(t, fmt.Sprintf("%s %+v output %d", f.call.Kernel(), f.call, i), b.args.Out[i].F64(), want)
		}
		for i, want := range f.aux {
			near(t, fmt.Sprintf("%s %+v statistic %d", f.call.Kernel(), f.call, i), b.args.Aux[i].F64(), want)
		}
	}
}

func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	ok := len(got) == len(want)
	for i := 0; ok && i < len(want); i++ {
		ok = math.Abs(got[i]-want[i]) <= 1e-14*max(1, math.Abs(want[i]))
	}
	if !ok {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// attentionFigures have queries of zero, so that every visible row has the same weight, or keys so long that one row has all of it.
func attentionFigures() []figure {
	zero, values := matrix(1, 0, 0, 0, 0), matrix(1, 1, 3, 8, 20)
	c := kernels.Attention{Heads: 1, KVHeads: 1, HeadDim: 1, T: 4, Scale: 1}
	window, half := c, c
	window.Window, half.T = 2, 2
	picks := c
	picks.Scale = 1000
	cached := kernels.CachedAttention{Heads: 1, KVHeads: 1, HeadDim: 1, T: 2, Context: 4, Scale: 1, Window: 2}
	grouped := kernels.Attention{Heads: 4, KVHeads: 2, HeadDim: 1, T: 1, Scale: 1}
	log := math.Log
	return []figure{
		{call: c, in: []kernels.View{zero, zero, values}, out: [][]float64{{1, 2, 4, 8}}, aux: [][]float64{{0, log(2), log(3), log(4)}}},
		{call: window, in: []kernels.View{zero, zero, values}, out: [][]float64{{1, 2, 5.5, 14}}, aux: [][]float64{{0, log(2), log(2), log(2)}}},
		{call: half, in: []kernels.View{zero, zero, values}, out: [][]float64{{1, 2, 8, 14}}},
		{call: c, in: []kernels.View{zero, zero, values, ids(0, 1, 0, 1)}, out: [][]float64{{1, 3, 4.5, 11.5}}},
		{call: picks, in: []kernels.View{matrix(1, 1, 1, 1, 1), matrix(1, 1, 3, 2, 0), values}, out: [][]float64{{1, 3, 3, 3}}, aux: [][]float64{{1000, 3000, 3000, 3000}}},
		{call: grouped, in: []kernels.View{matrix(4, 1, 2, 3, 4), matrix(2, 5, 6), matrix(2, 7, 8)}, out: [][]float64{{7, 7, 8, 8}}, aux: [][]float64{{5, 10, 18, 24}}},
		{call: cached, in: []kernels.View{matrix(1, 0, 0), zero, values, ids(1)}, out: [][]float64{{2, 5.5}}},
		{call: cached, in: []kernels.View{matrix(1, 0, 0), zero, values, ids(3)}, out: [][]float64{{14, 20}}}, // the second row lies past the context
	}
}

// TestAccumulate wants a product to be added to what is there.
func TestAccumulate(t *testing.T) {
	b := bind(t, kernels.MatMul{Accumulate: true}, nil, matrix(2, 1, 2, 3, 4), matrix(2, 5, 6, 7, 8))
	copy(b.args.Out[0].F64(), []float64{100, 200, 300, 400})
	launch(t, b)
	near(t, "accumulated", b.args.Out[0].F64(), []float64{119, 222, 343, 450})
}

// TestClipFactorOfNoNumber wants a norm or loss that is not finite, or above its limit, to show.
func TestClipFactorOfNoNumber(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, limit := range []float64{0, 1} {
		for _, c := range [][4]float64{{nan, 1, 9, 9}, {inf, 1, inf, inf}, {1, nan, 9, 9}, {1, inf, inf, inf}, {1, -inf, 9, 9}, {1, 3, 2.9, 9}, {3, 1, 9, 2.9}} {
			b := bind(t, kernels.ClipFactor{Max: limit}, nil, vector(c[0]), number(c[1]), vector(c[2], c[3]))
			launch(t, b)
			if f := b.args.Out[0].F64()[0]; !math.IsNaN(f) {
				t.Errorf("norm %g, loss %g, limits %v, clipped to %g: factor %g", c[0], c[1], c[2:], limit, f)
			}
		}
	}
}

// TestDropoutKeeps wants exactly the elements whose draw is at least the rate, scaled.
func TestDropoutKeeps(t *testing.T) {
	x := vector(slices.Repeat([]float64{3}, 50)...)
	b := bind(t, kernels.Dropout{Rate: 0.25, Site: 9}, nil, x, ids(1, 2, 3, 4))
	launch(t, b)
	kept := 0
	for i, y := range b.args.Out[0].F64() {
		want := 0.0
		if kernels.Uniform([4]int32{1, 2, 3, 4}, 9, i) >= 0.25 {
			want = 4
			kept++
		}
		if y != want {
			t.Errorf("element %d is %v, want %v", i, y, want)
		}
	}
	if kept < 25 || kept > 48 {
		t.Errorf("%d of 50 elements are kept at rate 0.25", kept)
	}
}

// TestFillTypes pins Fill for every element type.
func TestFillTypes(t *testing.T) {
	fill := func(d kernels.DType, value float64) kernels.View {
		v := newView(d, 3)
		run, err := New().Bind(kernels.Fill{Value: value}, kernels.Args{Out: []kernels.View{v}, In: []kernels.View{v}})
		if err != nil {
			t.Fatal(err)
		}
		if err := run(); err != nil {
			t.Fatal(err)
		}
		return v
	}
	if got := fill(kernels.F32, 0.1).F32(); got[2] != 0.1 {
		t.Error(got)
	}
	if got := fill(kernels.I32, -7).I32(); got[2] != -7 {
		t.Error(got)
	}
	if got := fill(kernels.I8, -128).I8(); got[2] != -128 {
		t.Error(got)
	}
	for value, want := range map[float64]uint16{1: 0x3f80, -2: 0xc000, 1 + 1.0/256: 0x3f80, 1 + 3.0/256: 0x3f82, math.Inf(1): 0x7f80} {
		if got := fill(kernels.BF16, value).BF16(); got[2] != want {
			t.Errorf("bf16 of %v is %#x, want %#x", value, got, want)
		}
	}
}

// TestCachedEqualsAttention wants the rows of a sequence to have the same bits whether they come at once or one after another.
func TestCachedEqualsAttention(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const rows, heads, kv, d = 7, 4, 2, 3
	for _, window := range []int{0, 3} {
		q, k, v := normal(r, rows, heads*d), normal(r, rows, kv*d), normal(r, rows, kv*d)
		whole := bind(t, kernels.Attention{Heads: heads, KVHeads: kv, HeadDim: d, T: rows, Scale: 0.6, Softcap: 2, Window: window}, nil, q, k, v)
		launch(t, whole)
		for i := range rows {
			one := kernels.CachedAttention{Heads: heads, KVHeads: kv, HeadDim: d, T: 1, Context: rows, Scale: 0.6, Softcap: 2, Window: window}
			b := bind(t, one, nil, matrix(heads*d, row(q.F64(), i, heads*d)...), k, v, ids(int32(i)))
			launch(t, b)
			if want := row(whole.args.Out[0].F64(), i, heads*d); !slices.Equal(b.args.Out[0].F64(), want) {
				t.Errorf("window %d, row %d: %v, want %v", window, i, b.args.Out[0].F64(), want)
			}
		}
	}
}
