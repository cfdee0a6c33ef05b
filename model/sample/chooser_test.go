package sample

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/cpu"
	"prenorm/kernels/ref"
	"prenorm/model"
)

// choices are options without a repetition penalty.
var choices = []Options{
	{}, {Temperature: 1, Seed: 3}, {Temperature: 0.4, Seed: -1}, {Temperature: 1, TopK: 1}, {Temperature: 2, TopK: 5, Seed: 1 << 50}, {Temperature: 1, TopK: 1000},
	{Temperature: 1, TopP: 0.01}, {Temperature: 2, TopP: 0.6}, {Temperature: 1, TopP: 1}, {Temperature: 1, TopP: 1 - 1e-16}, {Temperature: 1, MinP: 0.001},
	{Temperature: 2, MinP: 0.2}, {Temperature: 1.5, TopK: 20, TopP: 0.9, MinP: 0.05}, {Temperature: 3, TopK: 6, TopP: 0.5, RepetitionPenalty: 1},
}

// sampleTokens runs the call on host memory, a row of logits for each place.
func sampleTokens(t *testing.T, be kernels.Backend, o Options, logits []float32, places []int32) []int32 {
	t.Helper()
	n := len(places) / 2
	ids := make([]int32, n)
	call := kernels.SampleTokens{Temperature: o.Temperature, TopK: o.TopK, TopP: o.TopP, MinP: o.MinP, Seed: o.Seed}
	a := kernels.Args{Out: []kernels.View{kernels.HostView(ids, n)},
		In: []kernels.View{kernels.HostView(logits, n, len(logits)/n), kernels.HostView(places, n, 2)}}
	size, err := be.Workspace(call, a)
	if err != nil {
		t.Fatal(err)
	}
	work, err := be.NewArena(size)
	if err != nil {
		t.Fatal(err)
	}
	a.Work = work.View(0, kernels.I8, size)
	launch, err := be.Bind(call, a)
	if err != nil {
		t.Fatal(err)
	}
	if err := launch(); err != nil {
		t.Fatal(err)
	}
	return ids
}

// The call of package kernels and the sampler are two implementations of one definition.
func TestCallChoosesAsSampler(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for _, be := range []kernels.Backend{ref.New(), onCPU(t)} {
		for _, o := range choices {
			s := newSampler(t, o)
			for round := range 40 {
				const rows = 7
				vocab := []int{1, 2, 7, 50, 51, 300}[round%6]
				logits, places := randomLogits(r, rows*vocab, round%2 == 1), make([]int32, 2*rows)
				for i := range places {
					places[i] = r.Int32()
				}
				got := sampleTokens(t, be, o, logits, places)
				for b, id := range got {
					want, err := s.Next(logits[b*vocab:][:vocab], nil, int(places[2*b]), int(places[2*b+1]))
					if err != nil || id != want {
						t.Fatalf("%s, %+v, row %d of %v: id %d, the sampler chooses %d (%v)", be.Name(), o, b, logits, id, want, err)
					}
				}
			}
		}
	}
}

// choosing is a generator that chooses on its backend, as it does on a device.
func choosing(t *testing.T, w *model.Weights, o GeneratorOptions) *Generator {
	t.Helper()
	g := newGenerator(t, w, o)
	if g.chooser != nil {
		t.Fatal("a generator on the host chooses on its backend unasked")
	}
	var err error
	if g.chooser, err = newChooser(w.Backend(), g.options.Vocab, g.options.Vocab); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestChoosingOnTheBackend(t *testing.T) {
	for _, be := range []kernels.Backend{ref.New(), onCPU(t)} {
		for name, c := range variants() {
			w := newWeightsOn(t, be, c)
			o := GeneratorOptions{Prefill: testChunk, Vocab: c.Vocab - 2}
			here, there := newGenerator(t, w, o), choosing(t, w, o)
			for i, options := range append(choices, Options{Temperature: 1, RepetitionPenalty: 1.4}) {
				prompt := text(2+i, c.Vocab)
				want, got := collect(t, here, prompt, 2*testContext, options, i), collect(t, there, prompt, 2*testContext, options, i)
				if !slices.Equal(got, want) {
					t.Errorf("%s, %s, %+v: chosen on the backend %v, on the host %v", be.Name(), name, options, got, want)
				}
				if there.remote == (options.RepetitionPenalty > 1) {
					t.Errorf("%+v: ids are chosen on the backend: %v", options, there.remote)
				}
			}
			prompt := text(5, c.Vocab)
			want, err := here.Logits(prompt)
			if err != nil {
				t.Fatal(err)
			}
			got, err := there.Logits(prompt)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, %s: logits %v, want %v (%v)", be.Name(), name, got, want, err)
			}
		}
	}
}

func TestChoosingEnds(t *testing.T) {
	c := variants()["base"]
	w := newWeights(t, c)
	g := choosing(t, w, GeneratorOptions{})
	beyond := math.MaxInt // of 32 bits, where int is longer
	if ids, want := collect(t, g, []int32{1}, 3, Options{}, beyond), collect(t, newGenerator(t, w, GeneratorOptions{}), []int32{1}, 3, Options{}, beyond); g.remote || !slices.Equal(ids, want) {
		t.Errorf("a sequence beyond 32 bits: ids %v, want %v, chosen on the backend: %v", ids, want, g.remote)
	}
	last := len(w.Table) - 1
	if err := w.Backend().Upload(w.Slab.View(last), slices.Repeat([]float32{float32(math.NaN())}, w.Table[last].Len())); err != nil {
		t.Fatal(err)
	}
	err := g.Generate(context.Background(), []int32{1, 2}, 1, newSampler(t, Options{}), 4, nil)
	if err == nil || !strings.Contains(err.Error(), "sequence 4, id at position 2: ") || !strings.Contains(err.Error(), "the logit of id 0 in row 0 is not finite") {
		t.Errorf("weights of NaN: %v", err)
	}
}

func TestChoosingAllocatesNothing(t *testing.T) {
	g := choosing(t, newWeightsOn(t, cpu.New(1), variants()["base"]), GeneratorOptions{Prefill: testChunk})
	s, prompt, ctx := newSampler(t, Options{Temperature: 1, TopK: 9, TopP: 0.9, MinP: 0.01}), text(7, 23), context.Background()
	count := 0
	emit := func(int32) (bool, error) { count++; return false, nil }
	allocations := testing.AllocsPerRun(3, func() {
		if err := g.Generate(ctx, prompt, 2*testContext, s, 0, emit); err != nil {
			t.Fatal(err)
		}
	})
	if allocations != 0 {
		t.Error(fmt.Sprint(allocations, " allocations for ", count/4, " tokens"))
	}
}
