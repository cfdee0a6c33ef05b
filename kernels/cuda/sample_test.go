//go:build gpu

package cuda

import (
	"context"
	"testing"

	"prenorm/kernels"
	"prenorm/model"
	"prenorm/model/sample"
)

// TestGenerates wants a generator on the GPU, where ids are chosen, to write what a sampler on the host chooses from the logits that it downloads.
func TestGenerates(t *testing.T) {
	b := opened(t)
	c := model.Default()
	c.Layers, c.Width, c.Heads, c.KVHeads, c.FFN, c.Context, c.Vocab = 1, 16, 2, 1, 24, 16, 50
	w, err := model.NewWeights(b, c)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range w.Table {
		p.Std = 0.5
		if err := b.Upload(w.Slab.View(i), p.Initial(7)); err != nil {
			t.Fatal(err)
		}
	}
	g, err := sample.New(w, sample.GeneratorOptions{Prefill: 5, Vocab: 47})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := g.Free(); err != nil {
			t.Error(err)
		}
	}()
	for _, o := range []sample.Options{{}, {Temperature: 2, TopK: 20, TopP: 0.9, MinP: 0.01, Seed: 5}} {
		s, err := sample.NewSampler(o)
		if err != nil {
			t.Fatal(err)
		}
		text := []int32{1, 2, 3}
		err = g.Generate(context.Background(), text, 6, s, 3, func(id int32) (bool, error) {
			text = append(text, id)
			return false, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for at := 3; at < len(text); at++ {
			logits, err := g.Logits(text[:at])
			if err != nil {
				t.Fatal(err)
			}
			if want, err := s.Next(logits[:47], nil, 3, at); err != nil || text[at] != want {
				t.Errorf("%+v: id %d at position %d, the host chooses %d (%v)", o, text[at], at, want, err)
			}
		}
	}
}

// TestNotFinite wants a logit that is not a number to be named by row and id, once, in the words of the reference.
func TestNotFinite(t *testing.T) {
	b := opened(t)
	p := placer{t, b}
	logits, places, ids := p.view(kernels.Shaped(kernels.F32, 2, 3)), p.view(kernels.Shaped(kernels.I32, 2, 2)), p.view(kernels.Shaped(kernels.I32, 2))
	work, err := b.Workspace(kernels.SampleTokens{}, kernels.Args{Out: []kernels.View{ids}, In: []kernels.View{logits, places}})
	if err != nil {
		t.Fatal(err)
	}
	a := kernels.Args{Out: []kernels.View{ids}, In: []kernels.View{logits, places}, Work: p.view(kernels.Shaped(kernels.I8, work))}
	launch, err := b.Bind(kernels.SampleTokens{}, a)
	if err != nil {
		t.Fatal(err)
	}
	p.upload(places, kernels.HostView(make([]int32, 4), 2, 2))
	nan := kernels.FromBF16(0x7fc0)
	p.upload(logits, kernels.HostView([]float32{1, 2, 3, 1, nan, nan}, 2, 3))
	if err := launch(); err != nil {
		t.Fatal(err)
	}
	if err := b.Sync(); err == nil || err.Error() != kernels.NotFinite(1, 1).Error() {
		t.Errorf("error %v", err)
	}
	p.upload(logits, kernels.HostView([]float32{1, 2, 3, 3, 3, 1}, 2, 3))
	if err := launch(); err != nil {
		t.Fatal(err)
	}
	if got := downloaded(t, b, ids).I32(); got[0] != 2 || got[1] != 0 {
		t.Errorf("ids %v", got)
	}
}
