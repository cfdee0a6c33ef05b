//go:build gpu

package cuda

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
)

// The conformance suite has small shapes. These tests reach what only large ones do.

// TestHeadChunks cuts the logits into chunks of few rows and wants the loss and dx bit for bit, and dW within rounding.
func TestHeadChunks(t *testing.T) {
	b := opened(t)
	r := rand.New(rand.NewPCG(5, 6))
	const n, width, vocab = 300, 24, 100
	targets := below(r, n, vocab)
	targets.I32()[3], targets.I32()[290] = -1, -100
	in := []kernels.View{random(r, n, width), random(r, vocab, width), targets, scalar(n - 2), kernels.HostView([]float32{0.5})}
	c := kernels.LinearCrossEntropyGrad{Softcap: 5}
	whole := run(t, b, c, nil, in...)
	defer func(old int) { headElements = old }(headElements)
	for _, elements := range []int{1, 7 * vocab, 130 * vocab} {
		headElements = elements
		cut := run(t, b, c, nil, in...)
		if !equalBits(cut[0], whole[0]) || !equalBits(cut[2], whole[2]) {
			t.Errorf("chunks of %d logits change dx or the loss", elements)
		}
		near(t, "dW", 2e-6, cut[1].F32(), whole[1].F32())
	}
}

// TestLargeHeads takes the attention kernels of the largest head dimension.
func TestLargeHeads(t *testing.T) {
	b := opened(t)
	r := rand.New(rand.NewPCG(7, 8))
	for _, dim := range []int{129, 256} {
		const tokens, context = 21, 40
		c := kernels.Attention{Heads: 2, KVHeads: 1, HeadDim: dim, T: tokens, Scale: 0.06, Window: 13}
		q, k, v := random(r, tokens, 2*dim), random(r, tokens, dim), random(r, tokens, dim)
		sameAsReference(t, b, 1e-5, c, q, k, v)
		y := run(t, ref.New(), c, nil, q, k, v)[0]
		sameAsReference(t, b, 1e-5, kernels.AttentionGrad(c), q, k, v, y, random(r, tokens, 2*dim))
		cached := kernels.CachedAttention{Heads: 2, KVHeads: 1, HeadDim: dim, T: 3, Context: context, Scale: 0.06}
		sameAsReference(t, b, 1e-5, cached, random(r, 3, 2*dim), random(r, context, dim), random(r, context, dim), kernels.HostView([]int32{30}, 1))
	}
}

// TestLargeVocabulary takes the embedding gradient's kernel of many rows a block.
func TestLargeVocabulary(t *testing.T) {
	b := opened(t)
	r := rand.New(rand.NewPCG(11, 12))
	const vocab, n, width = 1100, 700, 140
	tokens := below(r, n, vocab)
	for i := range tokens.I32() {
		if i%3 == 0 {
			tokens.I32()[i] = 37
		}
	}
	sameAsReference(t, b, 2e-6, kernels.EmbedGrad{Vocab: vocab}, tokens, random(r, n, width))
}

// TestFillTypes fills every type of element, the ones whose neighbours must stay as they are included.
func TestFillTypes(t *testing.T) {
	b := opened(t)
	a, err := b.NewArena(64)
	if err != nil {
		t.Fatal(err)
	}
	fill := func(value float64, x kernels.View) {
		t.Helper()
		launch, err := b.Bind(kernels.Fill{Value: value}, kernels.Args{Out: []kernels.View{x}, In: []kernels.View{x}})
		if err != nil {
			t.Fatal(err)
		}
		if err := launch(); err != nil {
			t.Fatal(err)
		}
	}
	bf16, f64, i8 := a.View(2, kernels.BF16, 3), a.View(16, kernels.F64, 2), a.View(33, kernels.I8, 3)
	fill(-1.0/3, bf16)
	fill(-1.0/3, f64)
	fill(-7, i8)
	halves, doubles, bytes := make([]uint16, 5), make([]float64, 2), make([]int8, 5)
	err = errors.Join(b.Download(halves, a.View(0, kernels.BF16, 5)), b.Download(doubles, f64), b.Download(bytes, a.View(32, kernels.I8, 5)))
	if err != nil {
		t.Fatal(err)
	}
	// -1/3 is 0xbeaaaaab as a float32, so 0xbeab is the nearest bfloat16.
	if !slices.Equal(halves, []uint16{0, 0xbeab, 0xbeab, 0xbeab, 0}) || !slices.Equal(doubles, []float64{-1.0 / 3, -1.0 / 3}) ||
		!slices.Equal(bytes, []int8{0, -7, -7, -7, 0}) {
		t.Errorf("%x %v %v", halves, doubles, bytes)
	}
}
