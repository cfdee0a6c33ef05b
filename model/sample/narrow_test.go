package sample

import (
	"context"
	"errors"
	"slices"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model"
)

// wideCaches is a backend that refuses caches in bfloat16, as GPUs do, and so keeps them in float32. With round it rounds what it writes to them.
type wideCaches struct {
	kernels.Backend
	round bool
}

var errWide = errors.New("caches are float32 here")

func (b wideCaches) Workspace(c kernels.Call, a kernels.Args) (int, error) {
	if isCache(c) && kernels.Narrow(a) {
		return 0, errWide
	}
	return b.Backend.Workspace(c, a)
}

func isCache(c kernels.Call) bool {
	switch c.(type) {
	case kernels.CacheWrite, kernels.CachedAttention:
		return true
	}
	return false
}

func (b wideCaches) Bind(c kernels.Call, a kernels.Args) (kernels.Launch, error) {
	if isCache(c) && kernels.Narrow(a) {
		return nil, errWide
	}
	launch, err := b.Backend.Bind(c, a)
	if _, write := c.(kernels.CacheWrite); !write || !b.round || err != nil {
		return launch, err
	}
	return func() error {
		err := launch()
		for i, x := range a.Out[0].F32() {
			a.Out[0].F32()[i] = kernels.FromBF16(kernels.ToBF16(x))
		}
		return err
	}, nil
}

// forced are the logits after every token of a text that is decoded in the given weights, the first of them as a prompt.
func forced(t *testing.T, w *model.Weights, ids []int32, prompt int) (all []float32) {
	t.Helper()
	g := newGenerator(t, w, GeneratorOptions{Prefill: testChunk})
	first, err := g.Logits(ids[:prompt])
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, first...)
	for _, id := range ids[prompt:] {
		if err := g.advance(context.Background(), id); err != nil {
			t.Fatal(err)
		}
		all = append(all, g.logits...)
	}
	return all
}

// TestNarrowCaches: with packed weights keys and values are kept in bfloat16, and logits have the bits that rounding a float32 cache gives; with float32
// weights they are as they were.
func TestNarrowCaches(t *testing.T) {
	for _, be := range []kernels.Backend{ref.New(), onCPU(t)} {
		for _, packing := range model.Packings {
			for name, c := range packable() {
				t.Run(be.Name()+"/"+packing+"/"+name, func(t *testing.T) {
					ids := text(c.Context, c.Vocab)
					logits := func(be kernels.Backend) (*model.Weights, []float32) {
						w := newWeightsOn(t, be, c)
						if err := w.PackAs(packing); err != nil {
							t.Fatal(err)
						}
						return w, forced(t, w, ids, testChunk+2)
					}
					w, got := logits(be)
					_, rounded := logits(wideCaches{be, true})
					_, wide := logits(wideCaches{be, false})
					cache, err := newCache(w, 1)
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = cache.Free() }()
					want, wantType := rounded, kernels.BF16
					if packing == "fp32" {
						want, wantType = wide, kernels.F32
					}
					for name, v := range cache.Views("") {
						if v.DType != wantType {
							t.Errorf("%s is %v, want %v", name, v, wantType)
						}
					}
					if !slices.Equal(got, want) {
						t.Error("logits differ from those of a float32 cache that holds the same")
					}
					if slices.Equal(rounded, wide) {
						t.Error("rounding the cache changes nothing, so that this test sees nothing")
					}
				})
			}
		}
	}
}
