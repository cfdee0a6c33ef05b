package sample

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model"
	"prenorm/model/exec"
)

func newGroup(t testing.TB, w *model.Weights, o GeneratorOptions, n int) *Group {
	t.Helper()
	g, err := NewGroup(w, o, n)
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

// TestGroupEqualsGenerator: a sequence is the same alone and beside any number of others, which end at any place, beyond the context too, on each backend
// and with packed weights.
func TestGroupEqualsGenerator(t *testing.T) {
	for _, be := range []kernels.Backend{ref.New(), onCPU(t)} {
		for name, c := range packable() {
			for _, packing := range model.Packings {
				if be.Name() == "ref" && (name != "base" || packing != "fp32") {
					continue // its products are row by row, however many there are
				}
				t.Run(be.Name()+"/"+name+"/"+packing, func(t *testing.T) { groupEqualsGenerator(t, be, c, packing) })
			}
		}
	}
}

func groupEqualsGenerator(t *testing.T, be kernels.Backend, c model.Config, packing string) {
	w := newWeightsOn(t, be, c)
	if err := w.PackAs(packing); err != nil {
		t.Fatal(err)
	}
	const first, tokens = 3, 2 * testContext
	prompt := text(testChunk+1, c.Vocab)
	lengths := []int{tokens, 1, 9, tokens, testContext, tokens - 1, 2, tokens}
	sampler := newSampler(t, Options{Temperature: 5, Seed: 11, RepetitionPenalty: 1.1})
	alone := newGenerator(t, w, GeneratorOptions{Prefill: testChunk})
	var want [][]int32
	for i, n := range lengths {
		var ids []int32
		if err := alone.Generate(context.Background(), prompt, n, sampler, first+i, func(id int32) (bool, error) {
			ids = append(ids, id)
			return false, nil
		}); err != nil {
			t.Fatal(err)
		}
		want = append(want, ids)
	}
	if slices.Equal(want[0], want[3]) {
		t.Fatal("the sequences are alike")
	}
	for _, count := range []int{1, 2, 5, GroupSize} {
		got := make([][]int32, count)
		g := newGroup(t, w, GeneratorOptions{Prefill: testChunk}, GroupSize)
		for range 2 { // a second time on what the first left in the cache
			clear(got)
			if err := g.Generate(context.Background(), prompt, tokens, sampler, first, count, func(sequence int, id int32) (bool, error) {
				i := sequence - first
				got[i] = append(got[i], id)
				return len(got[i]) == lengths[i], nil
			}); err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if !slices.Equal(got[i], want[i]) {
					t.Fatalf("sequence %d of %d: %v, alone it is %v", i, count, got[i], want[i])
				}
			}
		}
	}
}

// TestGroupReadsWeightsOnce wants one product with each matrix for a token of all sequences.
func TestGroupReadsWeightsOnce(t *testing.T) {
	w := newWeightsOn(t, ref.New(), packable()["base"])
	g := newGroup(t, w, GeneratorOptions{}, 5)
	products := func(p *pass) (n int) {
		if err := p.program.Trace(func(s exec.StepInfo, run func() error) error {
			if s.Kernel == "matmul" {
				n++
			}
			return run()
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if one, all := products(g.lanes[0].decode), products(g.decode); all != one || all == 0 {
		t.Errorf("%d products for 5 sequences, %d for one", all, one)
	}
}

func TestGroupErrors(t *testing.T) {
	w := newWeightsOn(t, ref.New(), packable()["base"])
	for _, n := range []int{0, GroupSize + 1} {
		if _, err := NewGroup(w, GeneratorOptions{}, n); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("a group of %d sequences (1 to 8)", n)) {
			t.Errorf("a group of %d gives the error %v", n, err)
		}
	}
	if _, err := NewGroup(w, GeneratorOptions{Prefill: 1000}, 2); err == nil || !strings.Contains(err.Error(), "prefill") {
		t.Errorf("a prefill of 1000 gives the error %v", err)
	}
	g, s := newGroup(t, w, GeneratorOptions{Overflow: Stop}, 2), newSampler(t, Options{})
	keep := func(int, int32) (bool, error) { return false, nil }
	ctx, cancel := context.WithCancel(context.Background())
	wrong := errors.New("wrong")
	for _, c := range []struct {
		what string
		err  error
		says string
	}{
		{"three of two", g.Generate(ctx, text(2, 23), 3, s, 0, 3, keep), "3 sequences in a group of 2"},
		{"a negative count", g.Generate(ctx, text(2, 23), -1, s, 0, 2, keep), "-1 new tokens"},
		{"no prompt", g.Generate(ctx, nil, 1, s, 0, 2, keep), "prompt is empty"},
		{"a full context", g.Generate(ctx, text(testContext-1, 23), 4, s, 0, 2, keep), "sequence 0, after the id at position 16: the context is full"},
		{"an error of the caller", g.Generate(ctx, text(2, 23), 4, s, 6, 2, func(sequence int, _ int32) (bool, error) {
			if sequence == 7 {
				return false, wrong
			}
			return false, nil
		}), "sequence 7, after the id at position 2: wrong"},
		{"a cancelled context", func() error {
			return g.Generate(ctx, text(2, 23), 4, s, 0, 2, func(int, int32) (bool, error) { cancel(); return false, nil })
		}(), "context canceled"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%s gives the error %v, wants %q", c.what, c.err, c.says)
		}
	}
}
