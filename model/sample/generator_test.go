package sample

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/cpu"
	"prenorm/kernels/ref"
	"prenorm/model"
)

const testContext, testChunk = 16, 5

// variants are small models that together use every option that the cache could get wrong.
func variants() map[string]model.Config {
	base := model.Default()
	base.Layers, base.Width, base.Heads, base.KVHeads, base.FFN, base.Context, base.Vocab = 2, 12, 3, 1, 20, testContext, 23
	untied := base
	untied.Tied, untied.KVHeads = false, 3

	learned := base
	learned.Norm.Kind, learned.MLP, learned.Position.Kind, learned.Bias = "layernorm", "gelu_tanh", "learned", "all"
	learned.Dropout = 0.2

	capped := base
	capped.MLP, capped.Norm.UnitOffset, capped.EmbedScale, capped.LogitSoftcap, capped.Attention.Softcap = "geglu", true, true, 30, 50
	capped.Attention.Window = []int{3, 0}
	capped.Position.Theta = []float64{10000, 1e6}

	heads := base
	heads.HeadDim, heads.Heads, heads.KVHeads, heads.Attention.QKNorm, heads.Bias = 6, 4, 2, "head", "qkv"

	full := base
	full.Attention.QKNorm, full.Attention.Scale, full.Attention.Window = "full", 0.3, []int{4}
	full.Position.Scaling = model.Scaling{Kind: "yarn", Factor: 2, Original: 8, LowFreq: 1, HighFreq: 32}
	batch := base
	batch.Norm.Kind = "batchnorm"
	return map[string]model.Config{"base": base, "untied": untied, "learned": learned, "capped": capped, "heads": heads, "full": full, "batchnorm": batch}
}

// newWeights draws parameters large enough that every token and every place changes the logits.
func newWeights(t testing.TB, c model.Config) *model.Weights { return newWeightsOn(t, ref.New(), c) }

func newWeightsOn(t testing.TB, be kernels.Backend, c model.Config) *model.Weights {
	t.Helper()
	w, err := model.NewWeights(be, c)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range w.Table {
		p.Mean, p.Std = p.Mean+0.1, 0.3
		if err := w.Backend().Upload(w.Slab.View(i), p.Initial(7)); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range w.BufferTable {
		x := p.Initial(7)
		for k := range x {
			x[k] += 0.1 * float32(k%5)
		}
		if err := w.Backend().Upload(w.Buffers.View(i), x); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func newGenerator(t testing.TB, w *model.Weights, o GeneratorOptions) *Generator {
	t.Helper()
	g, err := New(w, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Free(); err != nil {
			t.Error(err)
		}
	})
	return g
}

func newSampler(t testing.TB, o Options) *Sampler {
	t.Helper()
	s, err := NewSampler(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// text is a fixed sequence of n tokens.
func text(n, vocab int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32((i*i*7 + 3*i + 1) % vocab)
	}
	return ids
}

// allLogits is the forward without a cache: the logits after every token.
func allLogits(t *testing.T, w *model.Weights, ids []int32) [][]float32 {
	t.Helper()
	net, err := model.Build(w.Config, model.Options{Mode: model.Logits, B: 1, T: len(ids)})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := net.Plan(w.Backend(), false)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Bind(w.Views())
	if err != nil {
		t.Fatal(err)
	}
	flat := make([]float32, len(ids)*w.Config.Vocab)
	if err := errors.Join(p.Set(model.InTokens, ids), p.Run(), p.Get(model.OutLogits, flat)); err != nil {
		t.Fatal(err)
	}
	return slices.Collect(slices.Chunk(flat, w.Config.Vocab))
}

func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if !(math.Abs(float64(got[i]-want[i])) <= 1e-5*(1+math.Abs(float64(want[i])))) {
			t.Fatalf("%s: logit of id %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// onCPU is the fast backend, closed after the test.
func onCPU(t testing.TB) kernels.Backend {
	be := cpu.New(2)
	t.Cleanup(func() {
		if err := be.Close(); err != nil {
			t.Error(err)
		}
	})
	return be
}

func TestCacheEqualsForward(t *testing.T)      { testCache(t, ref.New()) }
func TestCacheEqualsForwardOnCPU(t *testing.T) { testCache(t, onCPU(t)) }

func testCache(t *testing.T, be kernels.Backend) {
	for name, c := range variants() {
		t.Run(name, func(t *testing.T) {
			cacheEqualsForward(t, newWeightsOn(t, be, c))
		})
	}
}

// cacheEqualsForward wants the logits of every prompt and of every token after it to be those of the forward without a cache.
func cacheEqualsForward(t *testing.T, w *model.Weights) {
	t.Helper()
	ids := text(w.Config.Context, w.Config.Vocab)
	want := allLogits(t, w, ids)
	if slices.Equal(want[3], want[7]) {
		t.Fatal("the logits do not depend on the place")
	}
	for _, chunk := range []int{testChunk, 1, 7, testContext} {
		g := newGenerator(t, w, GeneratorOptions{Prefill: chunk})
		for _, n := range []int{1, testChunk - 1, testChunk, testChunk + 1, 2*testChunk + 3, testContext} {
			got, err := g.Logits(ids[:n])
			if err != nil {
				t.Fatal(err)
			}
			near(t, fmt.Sprintf("chunks of %d, prompt of %d", chunk, n), got, want[n-1])
			for at := n; at < len(ids); at++ { // decode the rest
				if err := g.advance(context.Background(), ids[at]); err != nil {
					t.Fatal(err)
				}
				near(t, fmt.Sprintf("chunks of %d, prompt of %d, decoded to %d", chunk, n, at+1), g.logits, want[at])
			}
		}
	}
}

func TestSlide(t *testing.T) {
	for name, c := range variants() {
		t.Run(name, func(t *testing.T) {
			w := newWeights(t, c)
			g, fresh := newGenerator(t, w, GeneratorOptions{Prefill: testChunk}), newGenerator(t, w, GeneratorOptions{Prefill: 3})
			ids := text(3*c.Context, c.Vocab)
			if err := g.start(context.Background(), ids[:6]); err != nil {
				t.Fatal(err)
			}
			first := 0 // of the window
			for at := 6; at < len(ids); at++ {
				if at-first == c.Context {
					first += c.Context / 2
				}
				if err := g.advance(context.Background(), ids[at]); err != nil {
					t.Fatal(err)
				}
				want, err := fresh.Logits(ids[first : at+1])
				if err != nil {
					t.Fatal(err)
				}
				near(t, fmt.Sprintf("tokens %d to %d", first, at), g.logits, want)
			}
			if first != 4*c.Context/2 {
				t.Errorf("the window starts at token %d", first)
			}
			got, err := g.Logits(ids) // longer than the context
			if err != nil {
				t.Fatal(err)
			}
			want := allLogits(t, w, ids[len(ids)-c.Context:])
			near(t, "long prompt", got, want[c.Context-1])
		})
	}
}

// A text longer than the context keeps its numbering, by which random numbers are drawn.
func TestPositionsGoOn(t *testing.T) {
	c := variants()["learned"]
	w := newWeights(t, c)
	g, fresh := newGenerator(t, w, GeneratorOptions{}), newGenerator(t, w, GeneratorOptions{})
	o := Options{Temperature: 2, Seed: 9, RepetitionPenalty: 1.5}
	s := newSampler(t, o)
	for _, prompt := range [][]int32{text(4, c.Vocab), text(c.Context+5, c.Vocab)} {
		all := slices.Clone(prompt)
		window := all[max(0, len(all)-c.Context):]
		for i, id := range collect(t, g, prompt, 2*c.Context, o, 3) {
			logits, err := fresh.Logits(window)
			if err != nil {
				t.Fatal(err)
			}
			want, err := s.Next(logits, window, 3, len(prompt)+i)
			if err != nil || id != want {
				t.Fatalf("prompt of %d: new id %d is %d, want %d (%v)", len(prompt), i, id, want, err)
			}
			if len(window) == c.Context {
				window = window[c.Context/2:]
			}
			window = append(slices.Clone(window), id)
		}
	}
}

func TestSmallContexts(t *testing.T) {
	for _, size := range []int{1, 2, 3} {
		c := variants()["learned"]
		c.Context = size
		g := newGenerator(t, newWeights(t, c), GeneratorOptions{})
		if ids := collect(t, g, text(2, c.Vocab), 9, Options{}, 0); len(ids) != 9 {
			t.Errorf("context %d: %d ids", size, len(ids))
		}
		if len(g.window) > size {
			t.Errorf("context %d: a window of %d", size, len(g.window))
		}
	}
}

func collect(t *testing.T, g *Generator, prompt []int32, n int, o Options, sequence int) []int32 {
	t.Helper()
	var ids []int32
	err := g.Generate(context.Background(), prompt, n, newSampler(t, o), sequence, func(id int32) (bool, error) {
		ids = append(ids, id)
		return false, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestGreedyGeneration(t *testing.T) {
	for name, c := range variants() {
		w := newWeights(t, c)
		prompt := text(4, c.Vocab)
		got := collect(t, newGenerator(t, w, GeneratorOptions{Prefill: testChunk}), prompt, testContext-3, Options{}, 0)
		all := slices.Clone(prompt)
		for range got {
			logits := allLogits(t, w, all)[len(all)-1]
			all = append(all, int32(slices.Index(logits, slices.Max(logits))))
		}
		if !slices.Equal(got, all[len(prompt):]) {
			t.Errorf("%s: %v, the forward without a cache gives %v", name, got, all[len(prompt):])
		}
	}
}

func TestSeedsAndSequences(t *testing.T) {
	c := variants()["base"]
	w := newWeights(t, c)
	g := newGenerator(t, w, GeneratorOptions{Prefill: testChunk})
	prompt, o := text(3, c.Vocab), Options{Temperature: 2, Seed: 5}
	const n = 2 * testContext
	zero, one := collect(t, g, prompt, n, o, 0), collect(t, g, prompt, n, o, 1)
	if slices.Equal(zero, one) {
		t.Error("two sequences of one seed are the same")
	}
	other := newGenerator(t, w, GeneratorOptions{Prefill: 2})
	if got := collect(t, other, prompt, n, o, 1); !slices.Equal(got, one) {
		t.Errorf("sequence 1 alone is %v, after sequence 0 it is %v", got, one)
	}
	longer := slices.Concat(prompt, one[:4])
	if got := collect(t, g, longer, 6, o, 1); !slices.Equal(got, one[4:10]) {
		t.Errorf("gone on from its own beginning, sequence 1 is %v, in one go %v", got, one[4:10])
	}
	o.Seed = 6
	if got := collect(t, g, prompt, n, o, 0); slices.Equal(got, zero) {
		t.Error("two seeds give the same ids")
	}
	o.RepetitionPenalty, o.Temperature = 100, 0
	seen := map[int32]bool{}
	for _, id := range prompt {
		seen[id] = true
	}
	for i, id := range collect(t, g, prompt, 6, o, 0) {
		if seen[id] {
			t.Errorf("id %d, number %d, comes again under a penalty of 100", id, i)
		}
		seen[id] = true
	}
}

func TestEnds(t *testing.T) {
	c := variants()["base"]
	w := newWeights(t, c)
	slide, stop := newGenerator(t, w, GeneratorOptions{}), newGenerator(t, w, GeneratorOptions{Overflow: Stop})
	s := newSampler(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	broken := errors.New("broken pipe")
	endless := func(int32) (bool, error) { return false, nil }
	cases := []struct {
		name   string
		g      *Generator
		prompt int
		n      int
		emit   func(count int) (bool, error)
		emits  int
		want   error
	}{
		{"all", slide, 3, 7, nil, 7, nil},
		{"nothing wanted", slide, 3, 0, nil, 0, nil},
		{"emit stops", slide, 3, 7, func(n int) (bool, error) { return n == 4, nil }, 4, nil},
		{"emit fails", slide, 3, 7, func(n int) (bool, error) { return false, map[bool]error{true: broken}[n == 2] }, 2, broken},
		{"context just full", stop, 3, testContext - 2, nil, testContext - 2, nil},
		{"context full", stop, 3, testContext - 1, nil, testContext - 2, ErrContextFull},
		{"full prompt", stop, testContext, 1, nil, 1, nil},
		{"long prompt", stop, testContext + 1, 1, nil, 0, ErrContextFull},
		{"cancelled", slide, 3, 1 << 30, func(n int) (bool, error) {
			if n == 50 {
				cancel()
			}
			return false, nil
		}, 50, context.Canceled},
		{"cancelled before", slide, 3, 1, nil, 0, context.Canceled},
	}
	for _, k := range cases {
		count := 0
		err := k.g.Generate(ctx, text(k.prompt, c.Vocab), k.n, s, 0, func(id int32) (bool, error) {
			count++
			if k.emit == nil {
				return endless(id)
			}
			return k.emit(count)
		})
		if !errors.Is(err, k.want) || (k.want == nil) != (err == nil) || count != k.emits {
			t.Errorf("%s: %d ids and error %v, want %d and %v", k.name, count, err, k.emits, k.want)
		}
	}
}

func TestBadPrompts(t *testing.T) {
	c := variants()["base"]
	w := newWeights(t, c)
	g := newGenerator(t, w, GeneratorOptions{})
	for want, prompt := range map[string][]int32{
		"at least one token":                     {},
		"token 1 of the prompt is 23, outside":   {0, 23},
		"token 0 of the prompt is -1, outside [": {-1},
	} {
		if _, err := g.Logits(prompt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("prompt %v: error %v, want %q", prompt, err, want)
		}
	}
	err := g.Generate(context.Background(), []int32{1}, -1, newSampler(t, Options{}), 0, nil)
	if err == nil || !strings.Contains(err.Error(), "-1 new tokens") {
		t.Errorf("negative n: %v", err)
	}
	_, err = New(w, GeneratorOptions{Prefill: testContext + 1, Overflow: "slyde"})
	if err == nil || !strings.Contains(err.Error(), "prefill: 17 is out of range (0 to 16)") || !strings.Contains(err.Error(), "did you mean slide?") {
		t.Errorf("bad options: %v", err)
	}
	last := len(w.Table) - 1
	if err := w.Backend().Upload(w.Slab.View(last), slices.Repeat([]float32{float32(math.NaN())}, w.Table[last].Len())); err != nil {
		t.Fatal(err)
	}
	err = g.Generate(context.Background(), []int32{1, 2}, 1, newSampler(t, Options{}), 4, nil)
	if err == nil || !strings.Contains(err.Error(), "sequence 4, id at position 2: the logit of id 0 is NaN") {
		t.Errorf("weights of NaN: %v", err)
	}
	if err := errors.Join(g.Free(), g.Free()); err != nil {
		t.Error(err)
	}
	if _, err := g.Logits([]int32{1}); err == nil {
		t.Error("a freed generator works")
	}
}

func TestNoAllocations(t *testing.T) {
	c := variants()["capped"]
	for _, be := range []kernels.Backend{ref.New(), onCPU(t)} {
		g := newGenerator(t, newWeightsOn(t, be, c), GeneratorOptions{Prefill: testChunk})
		s := newSampler(t, Options{Temperature: 1, TopK: 9, TopP: 0.9, MinP: 0.01, RepetitionPenalty: 1.1})
		prompt, ctx, count := text(7, c.Vocab), context.Background(), 0
		emit := func(int32) (bool, error) { count++; return false, nil }
		allocations := testing.AllocsPerRun(3, func() {
			if err := g.Generate(ctx, prompt, 2*testContext, s, 0, emit); err != nil {
				t.Fatal(err)
			}
		})
		if allocations != 0 || count != 4*2*testContext {
			t.Errorf("%s: %v allocations for %d tokens", be.Name(), allocations, count/4)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	c := variants()["base"]
	c.Context = 64
	g, s := newGenerator(b, newWeightsOn(b, onCPU(b), c), GeneratorOptions{}), newSampler(b, Options{Temperature: 1, TopK: 10})
	b.ReportAllocs()
	b.ResetTimer()
	if err := g.Generate(context.Background(), text(3, c.Vocab), b.N, s, 0, func(int32) (bool, error) { return false, nil }); err != nil {
		b.Fatal(err)
	}
}

// TestVocabLimitsIDs wants a generator for a tokenizer that is smaller than the model's vocabulary to choose none of the ids that it lacks.
func TestVocabLimitsIDs(t *testing.T) {
	w := newWeights(t, variants()["untied"])
	g, err := New(w, GeneratorOptions{Vocab: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Free()
	s, err := NewSampler(Options{Temperature: 100, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int32]int{}
	err = g.Generate(context.Background(), []int32{1}, 40, s, 0, func(id int32) (bool, error) {
		seen[id]++
		return false, nil
	})
	if err != nil || len(seen) != 2 || seen[0] == 0 || seen[1] == 0 {
		t.Errorf("ids %v, error %v: want 0 and 1 and no other", seen, err)
	}
	if _, err := New(w, GeneratorOptions{Vocab: w.Config.Vocab + 1}); err == nil {
		t.Error("a vocabulary larger than the model's was taken")
	}
}
