package cpu

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
)

// problem is a call with inputs that make many tasks: several blocks of rows, lanes with several items, chunks of logits.
type problem struct {
	call  kernels.Call
	in    []kernels.View
	inner int // length of the longest sum
}

// floats are normal random numbers in a view.
func floats(r *rand.Rand, shape ...int) kernels.View {
	x := make([]float32, kernels.Shaped(kernels.F32, shape...).Len())
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return kernels.HostView(x, shape...)
}

func ids(r *rand.Rand, n, limit int) kernels.View {
	x := make([]int32, n)
	for i := range x {
		x[i] = int32(r.IntN(limit))
	}
	return kernels.HostView(x, n)
}

// garbage is memory full of NaN.
func garbage(bytes int) []byte { return slices.Repeat([]byte{0xff}, bytes) }

// args gives a call outputs and workspace; a call that updates in place gets copies of its inputs.
func args(be kernels.Backend, c kernels.Call, in []kernels.View) (kernels.Args, error) {
	a := kernels.Args{In: slices.Clone(in)}
	out, aux, err := c.Infer(in)
	if err != nil {
		return a, err
	}
	for i, v := range out {
		v.Host = garbage(v.Bytes())
		switch c.(type) {
		case kernels.AdamW, kernels.SGD:
			copy(v.Host, in[i].Host)
			a.In[i] = v
		}
		a.Out = append(a.Out, v)
	}
	for _, v := range aux {
		v.Host = garbage(v.Bytes())
		a.Aux = append(a.Aux, v)
	}
	n, err := be.Workspace(c, a)
	a.Work = kernels.View{Shape: []int{n}, DType: kernels.I8, Host: garbage(n)}
	return a, err
}

// launch runs a call on a backend and returns its outputs and statistics.
func launch(be kernels.Backend, c kernels.Call, in []kernels.View) ([]kernels.View, error) {
	a, err := args(be, c, in)
	if err != nil {
		return nil, err
	}
	run, err := be.Bind(c, a)
	if err != nil {
		return nil, err
	}
	return append(a.Out, a.Aux...), run()
}

func scalar(v float32) kernels.View { return kernels.HostView([]float32{v}) }
func one(v float32) kernels.View    { return kernels.HostView([]float32{v}, 1) }

func problems(r *rand.Rand) []problem {
	f := func(shape ...int) kernels.View { return floats(r, shape...) }
	p := []problem{
		{kernels.MatMul{TransB: true}, []kernels.View{f(300, 70), f(130, 70)}, 70},
		{kernels.MatMul{}, []kernels.View{f(300, 130), f(130, 75)}, 130},
		{kernels.MatMul{TransA: true}, []kernels.View{f(1000, 90), f(1000, 131)}, 1000},
		{kernels.MatMul{TransA: true, TransB: true}, []kernels.View{f(200, 90), f(131, 200)}, 200},
		{kernels.MatMul{TransB: true, Bias: true, Residual: true}, []kernels.View{f(300, 70), f(130, 70), f(130), f(300, 130)}, 70},
		{kernels.AddRMSNorm{Eps: 1e-5}, []kernels.View{f(3000, 64), f(3000, 64), f(32)}, 32},
		{kernels.AddRMSNormGrad{Eps: 1e-5}, []kernels.View{f(3000, 64), f(32), f(3000, 64), f(3000, 64)}, 6000},
		{kernels.AddLayerNorm{Eps: 1e-5}, []kernels.View{f(3000, 48), f(3000, 48), f(48), f(48)}, 48},
		{kernels.AddLayerNormGrad{Eps: 1e-5}, []kernels.View{f(3000, 48), f(48), f(48), f(3000, 48), f(3000, 48)}, 3000},
		{kernels.RMSNorm{Eps: 1e-5}, []kernels.View{f(3000, 64), f(32)}, 32},
		{kernels.LayerNorm{Eps: 1e-5}, []kernels.View{f(3000, 48), f(48), f(48)}, 48},
		{kernels.Add{}, []kernels.View{f(300, 64), f(300, 64)}, 1},
		{kernels.Scale{Factor: 3}, []kernels.View{f(300, 64)}, 1},
		{kernels.AddBias{}, []kernels.View{f(300, 64), f(64)}, 1},
		{kernels.Rope{}, []kernels.View{f(300, 128), ids(r, 300, 20), f(20, 64)}, 1},
		{kernels.Embed{}, []kernels.View{ids(r, 2000, 50), f(50, 112)}, 1},
		{kernels.DyT{}, []kernels.View{f(300, 64), one(.5), f(64), f(64)}, 1},
		{kernels.DyTGrad{}, []kernels.View{f(300, 64), one(.5), f(64), f(64), f(300, 64)}, 300 * 64},
		{kernels.Activation{Kind: "gelu_tanh"}, []kernels.View{f(100, 333)}, 1},
		{kernels.GatedActivation{Kind: "gelu_tanh"}, []kernels.View{f(100, 333), f(100, 333)}, 1},
		{kernels.EmbedGrad{Vocab: 3000}, []kernels.View{ids(r, 2000, 3000), f(2000, 300)}, 40},
		{kernels.SumRows{}, []kernels.View{f(5000, 33)}, 5000},
		{kernels.RMSNormGrad{Eps: 1e-5}, []kernels.View{f(3000, 64), f(32), f(3000, 64)}, 6000},
		{kernels.LayerNormGrad{Eps: 1e-5}, []kernels.View{f(3000, 48), f(48), f(48), f(3000, 48)}, 3000},
		{kernels.GlobalNorm{}, []kernels.View{f(100_000)}, 1},
		{kernels.EmbedGrad{Vocab: 50}, []kernels.View{ids(r, 2000, 50), f(2000, 100)}, 40},
		{kernels.AdamW{Beta1: .9, Beta2: .95, Eps: 1e-8, WeightDecay: .1},
			[]kernels.View{f(20_000), f(20_000), square(f(20_000)), f(20_000), kernels.HostView([]float32{.1, .3, .2, .5}, 4)}, 4},
		{kernels.Dropout{Rate: .3, Site: 5}, []kernels.View{f(100, 333), ids(r, 4, 1<<30)}, 1},
		{kernels.GatedActivationGrad{Kind: "silu"}, []kernels.View{f(100, 333), f(100, 333), f(100, 333)}, 1},
		{kernels.ActivationGrad{Kind: "gelu_tanh"}, []kernels.View{f(100, 333), f(100, 333)}, 1},
		{kernels.CachedAttention{Heads: 6, KVHeads: 2, HeadDim: 10, T: 70, Context: 200, Scale: .3, Window: 50},
			[]kernels.View{f(140, 60), f(400, 20), f(400, 20), kernels.HostView([]int32{110}, 1)}, 60},
	}
	for _, s := range [][2]int{{50, 90}, {50, 33_000}, {300, 5000}} { // one chunk, one of the least size, and one of that size with a rest
		rows, vocab := s[0], s[1]
		targets := ids(r, rows, vocab)
		targets.I32()[3], targets.I32()[rows-1] = -1, -1
		in := []kernels.View{f(rows, 5), f(vocab, 5), targets, one(float32(rows - 2))}
		for _, limit := range []float64{0, 3} {
			p = append(p, problem{kernels.LinearCrossEntropy{Softcap: limit}, in, 50},
				problem{kernels.LinearCrossEntropyGrad{Softcap: limit}, append(in[:4:4], scalar(.7)), vocab})
		}
	}
	for _, c := range []kernels.Attention{
		{Heads: 4, KVHeads: 2, HeadDim: 20, T: 100, Scale: .25},
		{Heads: 2, KVHeads: 2, HeadDim: 16, T: 300, Scale: .25, Window: 70},
		{Heads: 3, KVHeads: 1, HeadDim: 8, T: 50, Scale: .5, Softcap: 2},
	} {
		n, q, kv := 3*c.T, c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
		in := []kernels.View{f(n, q), f(n, kv), f(n, kv)}
		documents := ids(r, n, 3)
		slices.Sort(documents.I32())
		p = append(p, problem{c, in, c.T}, problem{c, append(in[:3:3], documents), c.T},
			problem{kernels.AttentionGrad(c), append(in[:3:3], f(n, q), f(n, q)), c.T},
			problem{kernels.AttentionGrad(c), append(in[:3:3], f(n, q), f(n, q), documents), c.T})
	}
	return p
}

func square(v kernels.View) kernels.View {
	for i, x := range v.F32() {
		v.F32()[i] = x * x
	}
	return v
}

// shifted copies views to memory that is aligned to their elements only.
func shifted(in []kernels.View) []kernels.View {
	var all []kernels.View
	for _, v := range in {
		n := v.Bytes()
		arena, _ := kernels.NewHostArena(n + 4)
		w := arena.View(4, v.DType, v.Shape...)
		copy(w.Host, v.Host)
		all = append(all, w)
	}
	return all
}

// TestLargeProblems holds calls of many tasks against the reference on every tier, and wants the same bits from every number of workers,
// wherever the inputs lie, and whether they are taken to be beyond caches.
func TestLargeProblems(t *testing.T) {
	all := problems(rand.New(rand.NewPCG(1, 2)))
	var wants [][]kernels.View
	for _, p := range all {
		want, err := launch(ref.New(), p.call, p.in)
		if err != nil {
			t.Fatalf("%s: reference: %v", p.call.Kernel(), err)
		}
		wants = append(wants, want)
	}
	results := map[string][][]kernels.View{}
	for _, level := range tiers() {
		t.Run(level.name, func(t *testing.T) { results[level.name] = largeProblems(t, level, all, wants) })
	}
	for i := range results["avx512"] {
		for o, v := range results["avx512"][i] {
			if !bytes.Equal(v.Host, results["avx2"][i][o].Host) {
				t.Errorf("problem %d, output %d differs between vector tiers", i, o)
			}
		}
	}
}

// largeProblems returns every problem's outputs.
func largeProblems(t *testing.T, level *tier, all []problem, wants [][]kernels.View) (results [][]kernels.View) {
	var backends []*Backend
	for _, n := range []int{1, 2, 3, 5} {
		b := newBackend(n, level)
		if n > 2 {
			b.farBytes = 0
		}
		defer func() { _ = b.Close() }()
		backends = append(backends, b)
	}
	for at, p := range all {
		name := fmt.Sprintf("%s %+v %v", p.call.Kernel(), p.call, p.in)
		var first []kernels.View
		for i, b := range backends {
			in := p.in
			if i == 1 {
				in = shifted(in)
			}
			got, err := launch(b, p.call, in)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if i == 0 {
				first, results = got, append(results, got)
				compare(t, name, got, wants[at], p.inner)
				continue
			}
			for o := range got {
				if !bytes.Equal(got[o].Host, first[o].Host) {
					t.Errorf("%s: output %d differs between 1 and %d workers (for 2, the inputs lie elsewhere too; for more, they are beyond caches)", name, o, len(b.pool.helpers)+1)
				}
			}
		}
	}
	return results
}

// compare allows errors of a few roundings, growing with the root of the length of the sums, relative to the largest element.
func compare(t *testing.T, name string, got, want []kernels.View, inner int) {
	t.Helper()
	for o := range want {
		scale, worst, at := 0.0, 0.0, 0
		for i, w := range want[o].F32() {
			scale = max(scale, math.Abs(float64(w)))
			if d := math.Abs(float64(got[o].F32()[i] - w)); !(d <= worst) {
				worst, at = d, i
			}
		}
		if limit := scale * 0x1p-23 * (4 + math.Sqrt(float64(inner))); !(worst <= limit) {
			t.Errorf("%s: output %d, element %d: %g, reference %g: off by %.2g, allowed are %.2g", name, o, at, got[o].F32()[at], want[o].F32()[at], worst, limit)
		}
	}
}
