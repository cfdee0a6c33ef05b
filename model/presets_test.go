package model_test

import (
	"testing"

	"prenorm/configs"
	"prenorm/model"
)

// TestParameterCounts holds the number of parameters of the presets against formulas by hand and published figures.
func TestParameterCounts(t *testing.T) {
	gpt2 := func(v, c, context, layers int) int {
		// token and position tables; in each layer q, k, v, o and the two matrices of the MLP with their biases, two norms; the final norm
		return v*c + context*c + layers*(4*c*c+4*c+8*c*c+5*c+4*c) + 2*c
	}
	llama := func(v, c, ffn, layers, kv int) int {
		return v*c + layers*(2*c*c+2*c*kv+3*c*ffn+2*c) + c
	}
	for _, p := range []struct {
		preset    string
		vocab     int
		formula   int
		published int64
	}{
		{"gpt2-124m", 50257, gpt2(50257, 768, 1024, 12), 124439808},
		{"llama-15m", 32000, llama(32000, 288, 768, 6, 288), 15191712},
		{"llama-110m", 32000, llama(32000, 768, 2048, 12, 768), 109529856},
	} {
		run, err := configs.Load(p.preset, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := run.Run.Model
		c.Vocab = p.vocab
		table, err := model.Table(c)
		if err != nil {
			t.Fatal(err)
		}
		if n := model.Count(table); n != p.published || int(n) != p.formula {
			t.Errorf("%s has %d parameters, by formula %d, published %d", p.preset, n, p.formula, p.published)
		}
	}
}

// TestGroupedQueryCount is the formula with fewer key heads, an untied head and a gain for each head of q and k.
func TestGroupedQueryCount(t *testing.T) {
	c := model.Default()
	c.Layers, c.Width, c.Heads, c.KVHeads, c.HeadDim, c.FFN, c.Vocab, c.Tied, c.Attention.QKNorm = 3, 48, 6, 2, 10, 100, 77, false, "head"
	table, err := model.Table(c)
	if err != nil {
		t.Fatal(err)
	}
	want := 2*77*48 + 3*(2*48*60+2*48*20+3*48*100+2*48+2*10) + 48
	if n := model.Count(table); n != int64(want) {
		t.Errorf("%d parameters, want %d", n, want)
	}
}

// TestPresetsBuild wants every preset to make a training graph.
func TestPresetsBuild(t *testing.T) {
	for _, name := range configs.Presets() {
		run, err := configs.Load(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := run.Run.Model
		if c.Vocab == 0 {
			c.Vocab = 300
		}
		if _, err := model.Build(c, model.Options{B: 1, T: c.Context}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
