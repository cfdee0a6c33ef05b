//go:build gpu

package cuda

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
)

// TestSequencesOfManyGrids cuts few sequences into grids as many would be, and wants the bits of one grid.
func TestSequencesOfManyGrids(t *testing.T) {
	b := opened(t)
	defer func(old int) { mostBlocks = old }(mostBlocks)
	r := rand.New(rand.NewPCG(43, 44))
	const sequences, tokens, dim = 11, 5, 8
	c := kernels.Attention{Heads: 4, KVHeads: 2, HeadDim: dim, T: tokens, Scale: 0.3}
	q, k, v := random(r, sequences*tokens, 4*dim), random(r, sequences*tokens, 2*dim), random(r, sequences*tokens, 2*dim)
	documents, dy := below(r, sequences*tokens, 2), random(r, sequences*tokens, 4*dim)
	y := run(t, ref.New(), c, nil, q, k, v, documents)[0]
	for _, convert := range []func(kernels.View) kernels.View{widened, narrowView} {
		q, k, v, y, dy := convert(q), convert(k), convert(v), convert(y), convert(dy)
		results := func(most int) (all []kernels.View) {
			mostBlocks = most
			all = append(all, launched(t, b, c, nil, q, k, v, documents)...) // y and the log-sum-exp
			all = append(all, launched(t, b, kernels.AttentionGrad(c), nil, q, k, v, y, dy, documents)...)
			return append(all, launched(t, b, kernels.AttentionGrad(c), all[1:2], q, k, v, y, dy, documents)...)
		}
		whole := results(1<<16 - 1)
		for i, cut := range results(4) {
			if !equalBits(cut, whole[i]) {
				t.Errorf("%v: result %d depends on the number of grids", q.DType, i)
			}
		}
	}
}

// launched runs a call with outputs of the type of its first input, and returns them and the statistics behind them; saved are those of a forward
// call.
func launched(t *testing.T, b *Backend, c kernels.Call, saved []kernels.View, in ...kernels.View) (results []kernels.View) {
	t.Helper()
	out, aux, err := c.Infer(kernels.Widened(kernels.Args{In: in}).In)
	if err != nil {
		t.Fatal(err)
	}
	p := placer{t, b}
	place := func(views []kernels.View, content bool) (all []kernels.View) {
		for _, v := range views {
			d := p.view(v)
			if content {
				p.upload(d, v)
			}
			all = append(all, d)
		}
		return all
	}
	for i := range out {
		out[i].DType = in[0].DType
	}
	a := kernels.Args{Out: place(out, false), Aux: place(aux, false), In: place(in, true), Saved: place(saved, true)}
	work, err := b.Workspace(c, a)
	if err != nil {
		t.Fatal(err)
	}
	a.Work = p.view(kernels.Shaped(kernels.I8, work))
	launch, err := b.Bind(c, a)
	if err != nil {
		t.Fatal(err)
	}
	if err := launch(); err != nil {
		t.Fatal(err)
	}
	for _, v := range slices.Concat(a.Out, a.Aux) {
		results = append(results, downloaded(t, b, v))
	}
	return results
}

// TestGridsFit binds calls with more rows, sequences and tokens than a grid has blocks in its second and third dimension.
func TestGridsFit(t *testing.T) {
	b := opened(t)
	const many, dim = 1<<17 + 6, 8
	f := func(shape ...int) kernels.View { return kernels.Shaped(kernels.F32, shape...) }
	h := func(shape ...int) kernels.View { return kernels.Shaped(kernels.BF16, shape...) }
	ids := func(n int) kernels.View { return kernels.Shaped(kernels.I32, n) }
	in := func(views ...kernels.View) []kernels.View { return views }
	x, y, row, one := f(many, dim), h(many, dim), f(dim), f(1)
	c := kernels.Attention{Heads: 1, KVHeads: 1, HeadDim: dim, T: 2}
	cache := kernels.CachedAttention{Heads: 1, KVHeads: 1, HeadDim: dim, T: 1, Context: 600}
	for _, call := range []struct {
		kernels.Call
		in []kernels.View
	}{
		{c, in(x, x, x)}, {c, in(y, y, y)}, {kernels.AttentionGrad(c), in(x, x, x, x, x, ids(many))}, {kernels.AttentionGrad(c), in(y, y, y, y, y)},
		{cache, in(x, f(600*many, dim), f(600*many, dim), ids(1))}, {kernels.CacheWrite{T: 1, Context: 2}, in(f(2*many, dim), x, ids(1))},
		{kernels.MatMul{}, in(x, f(dim, dim))}, {kernels.MatMul{TransA: true}, in(x, x)}, {kernels.MatMul{TransB: true}, in(y, h(9, dim))},
		{kernels.SumRows{}, in(x)}, {kernels.Embed{}, in(ids(many), f(many, dim))}, {kernels.EmbedGrad{Vocab: many}, in(ids(many), x)},
		{kernels.RMSNorm{}, in(x, row)}, {kernels.RMSNormGrad{}, in(x, row, x)}, {kernels.LayerNormGrad{}, in(x, row, row, x)},
		{kernels.RMSNormGrad{}, in(f(many, 7), f(7), f(many, 7))}, {kernels.Gate{}, in(x, row)}, {kernels.GateGrad{}, in(x, row, x)},
		{kernels.DyT{}, in(x, one, row, row)}, {kernels.DyTGrad{}, in(x, one, row, row, x)},
		{kernels.BatchNorm{}, in(x, row, row)}, {kernels.BatchNormGrad{}, in(x, row, row, x)},
		{kernels.LinearCrossEntropyGrad{}, in(x, f(20, dim), ids(many), one, one)}, {kernels.SampleTokens{}, in(x, kernels.Shaped(kernels.I32, many, 2))},
		{kernels.PackWeights{}, in(f(many, 64))}, {kernels.PackWeights{Packing: kernels.PackInt8}, in(f(many, 64))}, {kernels.RoundWeights{}, in(f(many, 64))},
		{kernels.PackedMatMul{}, in(f(many, 64), kernels.Shaped(kernels.I32, 9, 32))}, {kernels.PackedMatMul{}, in(f(1, 64), kernels.Shaped(kernels.I32, many, 32))},
		{kernels.GlobalNorm{}, in(f(1 << 36))}, {kernels.Rope{}, in(x, ids(many), f(9, dim))}, {kernels.Moments{}, in(f(1<<36), f(1<<36))},
	} {
		t.Run(call.Kernel(), func(t *testing.T) {
			for _, l := range boundWithoutMemory(t, b, call.Call, call.in) {
				if l.grid[0] > 1<<31-1 || l.grid[1] > 1<<16-1 || l.grid[2] > 1<<16-1 {
					t.Errorf("%s: grid %v", l.name, l.grid)
				}
			}
		})
	}
}

// boundWithoutMemory is what a call launches, in views that are not to be used.
func boundWithoutMemory(t *testing.T, b *Backend, c kernels.Call, in []kernels.View) []kernelLaunch {
	t.Helper()
	out, _, err := c.Infer(kernels.Widened(kernels.Args{In: in}).In)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; in[0].DType == kernels.BF16 && i < len(out); i++ {
		out[i].DType = kernels.BF16
	}
	a := kernels.Args{Out: out, In: in}
	e, err := lookup(c, a)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := e.plan(c, a, newScratch(alignment))
	if err != nil {
		t.Fatal(err)
	}
	build := &builder{device: b.device, precision: b.precision, program: &program{call: c, args: a}}
	if e.bind(build, c, a, plan); build.err != nil || len(build.program.launches) == 0 {
		t.Fatal(build.err, len(build.program.launches))
	}
	return build.program.launches
}

// TestManyHeads wants more heads than a grid has blocks to be refused when the memory of a call is planned, with the limit and the remedy.
func TestManyHeads(t *testing.T) {
	heads := mostBlocks + 1
	v := kernels.Shaped(kernels.F32, 1, heads)
	c := kernels.Attention{Heads: heads, KVHeads: heads, HeadDim: 1, T: 1}
	cache := kernels.CachedAttention{Heads: heads, KVHeads: heads, HeadDim: 1, T: 1, Context: 1}
	for _, call := range []struct {
		kernels.Call
		in []kernels.View
	}{{c, []kernels.View{v, v, v}}, {kernels.AttentionGrad(c), []kernels.View{v, v, v, v, v}}, {cache, []kernels.View{v, v, v, kernels.Shaped(kernels.I32, 1)}}} {
		out, _, err := call.Infer(call.in)
		if err != nil {
			t.Fatal(err)
		}
		_, err = planner{}.Workspace(call.Call, kernels.Args{Out: out, In: call.in})
		for _, words := range []string{call.Kernel(), "65536 heads", "at most 65535", "model.heads"} {
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("error %v does not say %q", err, words)
			}
		}
	}
}
