//go:build gpu

package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
)

// The tests of bfloat16 attention beside the conformance suite: sizes that cross tiles in every head dimension that has kernels of its own.

// narrowed16 copies a float32 host view to a bfloat16 one.
func narrowed16(x kernels.View) kernels.View {
	y := make([]uint16, x.Len())
	for i, v := range x.F32() {
		y[i] = kernels.ToBF16(v)
	}
	return kernels.HostView(y, x.Shape...)
}

// wide64 copies a host view to float64, integers as they are.
func wide64(x kernels.View) kernels.View {
	y := make([]float64, x.Len())
	switch x.DType {
	case kernels.BF16:
		for i, v := range x.BF16() {
			y[i] = float64(kernels.FromBF16(v))
		}
	case kernels.F32:
		for i, v := range x.F32() {
			y[i] = float64(v)
		}
	case kernels.F64:
		copy(y, x.F64())
	default:
		return x
	}
	return kernels.HostView(y, x.Shape...)
}

// flashProblem is an attention call with its inputs as host views, floats in bfloat16.
type flashProblem struct {
	kernels.Attention
	in []kernels.View // q, k, v and, where there are any, documents
	dy kernels.View
}

// newFlashProblem draws inputs for b sequences.
func newFlashProblem(r *rand.Rand, b int, c kernels.Attention, documents []int32) flashProblem {
	n, draw := b*c.T, func(width int) kernels.View { return narrowed16(random(r, b*c.T, width)) }
	p := flashProblem{Attention: c, in: []kernels.View{draw(c.Heads * c.HeadDim), draw(c.KVHeads * c.HeadDim), draw(c.KVHeads * c.HeadDim)}, dy: draw(c.Heads * c.HeadDim)}
	if documents != nil {
		p.in = append(p.in, kernels.HostView(documents, n))
	}
	return p
}

// gradInputs are the inputs of the backward call, with y from the forward call.
func (p flashProblem) gradInputs(y kernels.View) []kernels.View {
	return slices.Concat(p.in[:3], []kernels.View{y, p.dy}, p.in[3:])
}

// runWide runs a call on a backend and returns outputs and statistics as host views. Outputs have the type of the first input.
func runWide(t *testing.T, be kernels.Backend, c kernels.Call, in, saved []kernels.View) (out, aux []kernels.View) {
	t.Helper()
	shapes := kernels.Args{In: in}
	outs, auxs, err := c.Infer(kernels.Widened(shapes).In)
	if err != nil {
		t.Fatal(err)
	}
	place := placer{t: t, be: be}
	a := kernels.Args{}
	upload := func(v kernels.View) kernels.View {
		d := place.view(v)
		place.upload16(d, v)
		return d
	}
	for _, v := range in {
		a.In = append(a.In, upload(v))
	}
	for _, v := range saved {
		a.Saved = append(a.Saved, upload(v))
	}
	for _, v := range outs {
		a.Out = append(a.Out, place.view(kernels.Shaped(in[0].DType, v.Shape...)))
	}
	for _, v := range auxs {
		a.Aux = append(a.Aux, place.view(v))
	}
	work, err := be.Workspace(c, a)
	if err != nil {
		t.Fatal(err)
	}
	a.Work = place.view(kernels.Shaped(kernels.I8, work))
	launch, err := be.Bind(c, a)
	if err != nil {
		t.Fatal(err)
	}
	if err := launch(); err != nil {
		t.Fatal(err)
	}
	return place.download(a.Out), place.download(a.Aux)
}

func (p placer) upload16(dst, src kernels.View) {
	p.t.Helper()
	var err error
	switch src.DType {
	case kernels.BF16:
		err = p.be.Upload(dst, src.BF16())
	case kernels.F64:
		err = p.be.Upload(dst, src.F64())
	default:
		p.upload(dst, src)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p placer) download(views []kernels.View) (all []kernels.View) {
	p.t.Helper()
	for _, v := range views {
		var err error
		var host kernels.View
		switch v.DType {
		case kernels.BF16:
			x := make([]uint16, v.Len())
			err, host = p.be.Download(x, v), kernels.HostView(x, v.Shape...)
		case kernels.F64:
			x := make([]float64, v.Len())
			err, host = p.be.Download(x, v), kernels.HostView(x, v.Shape...)
		default:
			x := make([]float32, v.Len())
			err, host = p.be.Download(x, v), kernels.HostView(x, v.Shape...)
		}
		if err != nil {
			p.t.Fatal(err)
		}
		all = append(all, host)
	}
	return all
}

// largestOf is the largest size of an element.
func largestOf(x kernels.View) (m float64) {
	for _, v := range wide64(x).F64() {
		m = max(m, math.Abs(v))
	}
	return m
}

// nearWide wants got within a tolerance, relative to the largest element of want or to scale, of want.
func nearWide(t *testing.T, what string, tolerance, scale float64, got, want kernels.View) {
	t.Helper()
	scale = max(scale, largestOf(want))
	g, w := wide64(got).F64(), wide64(want).F64()
	for i := range w {
		if d := math.Abs(g[i] - w[i]); !(d <= tolerance*scale) {
			t.Errorf("%s: element %d of %v is %g, want %g within %g", what, i, want.Shape, g[i], w[i], tolerance*scale)
			return
		}
	}
}

// flashTolerance is the error of bfloat16 attention: a few roundings to its 8 bits.
const flashTolerance = 4 * 0x1p-8

// check holds forward and backward on the device against the reference in float64. scale is the size of the terms of dq, dk.
func (p flashProblem) check(t *testing.T, b *Backend) {
	t.Helper()
	wide := make([]kernels.View, len(p.in))
	for i, v := range p.in {
		wide[i] = wide64(v)
	}
	what := fmt.Sprintf("%+v", p.Attention)
	y, lse := runWide(t, b, p.Attention, p.in, nil)
	wantY, wantLSE := runWide(t, ref.New(), p.Attention, wide, nil)
	nearWide(t, what+" y", flashTolerance, 1, y[0], wantY[0])
	nearWide(t, what+" lse", 1e-5, 1, lse[0], wantLSE[0])
	rounded := narrowed64(wantY[0])
	in := p.gradInputs(rounded)
	wide = nil
	for _, v := range in {
		wide = append(wide, wide64(v))
	}
	want, _ := runWide(t, ref.New(), kernels.AttentionGrad(p.Attention), wide, wantLSE)
	got, _ := runWide(t, b, kernels.AttentionGrad(p.Attention), in, lse)
	again, _ := runWide(t, b, kernels.AttentionGrad(p.Attention), in, nil)
	for i, name := range []string{" dq", " dk", " dv"} {
		nearWide(t, what+name, flashTolerance, 1, got[i], want[i])
		if !equalBits(got[i], again[i]) {
			t.Errorf("%s%s: other bits when the statistics are made again", what, name)
		}
	}
}

// narrowed64 rounds a float64 view to bfloat16.
func narrowed64(x kernels.View) kernels.View {
	y := make([]uint16, x.Len())
	for i, v := range x.F64() {
		y[i] = kernels.ToBF16(float32(v))
	}
	return kernels.HostView(y, x.Shape...)
}

// TestFlashShared wants blocks to fit on every GPU from sm_80 on: those of sm_86 and sm_89 give a block 99 KiB.
func TestFlashShared(t *testing.T) {
	for _, s := range flashShapes {
		if s.forwardShared() > 99<<10 || s.backwardShared() > 99<<10 {
			t.Errorf("head dimension %d: a block wants %d bytes forward and %d backward", s.size, s.forwardShared(), s.backwardShared())
		}
	}
}

// flashResults are outputs and gradients of bfloat16 attention, and the output of a divided cache, for TestDigest.
func flashResults(t *testing.T, b *Backend, r *rand.Rand) []kernels.View {
	t.Helper()
	p := newFlashProblem(r, 2, kernels.Attention{Heads: 3, KVHeads: 1, HeadDim: 40, T: 150, Scale: 0.2, Softcap: 5}, packed(r, 300))
	y, _ := runWide(t, b, p.Attention, p.in, nil)
	grads, _ := runWide(t, b, kernels.AttentionGrad(p.Attention), p.gradInputs(y[0]), nil)
	c := kernels.CachedAttention{Heads: 2, KVHeads: 1, HeadDim: 16, T: 2, Context: 700, Scale: 0.25}
	long := run(t, b, c, nil, random(r, 2, 32), random(r, 700, 16), random(r, 700, 16), kernels.HostView([]int32{650}, 1))
	return slices.Concat(y, grads, long)
}

// TestFlashDimensions takes every kernel with a head dimension that it does not pad.
func TestFlashDimensions(t *testing.T) {
	b := opened(t)
	r := rand.New(rand.NewPCG(25, 26))
	for _, s := range flashShapes {
		c := kernels.Attention{Heads: 2, KVHeads: 1, HeadDim: s.size, T: 70, Scale: 1 / math.Sqrt(float64(s.size)), Window: 21}
		newFlashProblem(r, 1, c, packed(r, c.T)).check(t, b)
	}
}

// TestFlashSizes crosses tiles in rows, columns and heads, with windows and documents whose edges lie on and beside those of tiles.
func TestFlashSizes(t *testing.T) {
	b := opened(t)
	r := rand.New(rand.NewPCG(21, 22))
	rows, dims := []int{1, 63, 64, 65, 127, 130, 257}, []int{8, 20, 64, 72, 128, 256}
	groups := [][2]int{{1, 1}, {2, 1}, {3, 1}, {8, 1}, {4, 2}}
	windows := []int{0, 1, 31, 32, 33, 63, 64, 65, 128, 200}
	i := 0
	for _, dim := range dims {
		for _, tokens := range rows {
			g := groups[i%len(groups)]
			if tokens*dim > 65*128 {
				g = [2]int{1 + i%2, 1} // the software driver is slow
			}
			c := kernels.Attention{Heads: g[0], KVHeads: g[1], HeadDim: dim, T: tokens, Scale: 1 / math.Sqrt(float64(dim)), Window: windows[i*7%len(windows)]}
			if i%4 == 3 {
				c.Softcap = 3
			}
			var documents []int32
			if i%3 == 1 {
				documents = packed(r, tokens)
			}
			newFlashProblem(r, 1, c, documents).check(t, b)
			i++
		}
	}
}

// packed are the ids of documents of random lengths, one after another.
func packed(r *rand.Rand, n int) []int32 {
	ids, id := make([]int32, n), int32(7)
	for i := range ids {
		if r.IntN(40) == 0 {
			id++
		}
		ids[i] = id
	}
	return ids
}

// TestFlashPacked wants documents that are packed into one sequence to give what each gives alone, forward and backward.
func TestFlashPacked(t *testing.T) {
	b := opened(t)
	r := rand.New(rand.NewPCG(23, 24))
	lengths := []int{1, 70, 64, 33, 90}
	var ids []int32
	for i, n := range lengths {
		ids = append(ids, slices.Repeat([]int32{int32(5 - i)}, n)...)
	}
	c := kernels.Attention{Heads: 2, KVHeads: 1, HeadDim: 64, T: len(ids), Scale: 0.125}
	p := newFlashProblem(r, 1, c, ids)
	y, _ := runWide(t, b, c, p.in, nil)
	grads, _ := runWide(t, b, kernels.AttentionGrad(c), p.gradInputs(y[0]), nil)
	first := 0
	for _, n := range lengths {
		cut := func(x kernels.View) kernels.View {
			w := x.Dim(1)
			return kernels.HostView(slices.Clone(x.BF16()[first*w:(first+n)*w]), n, w)
		}
		alone := flashProblem{Attention: c, in: []kernels.View{cut(p.in[0]), cut(p.in[1]), cut(p.in[2])}, dy: cut(p.dy)}
		alone.T = n
		one, _ := runWide(t, b, alone.Attention, alone.in, nil)
		nearWide(t, fmt.Sprint("y of ", n, " rows at ", first), 2*0x1p-8, 1, cut(y[0]), one[0])
		ones, _ := runWide(t, b, kernels.AttentionGrad(alone.Attention), alone.gradInputs(cut(y[0])), nil)
		for i := range ones {
			nearWide(t, fmt.Sprint("gradient ", i, " of ", n, " rows at ", first), flashTolerance, 1, cut(grads[i]), ones[i])
		}
		first += n
	}
}
