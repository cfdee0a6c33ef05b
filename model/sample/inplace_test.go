package sample

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestLikeliestInPlace: ids found where a pass left its logits are those that the sampler chooses from a copy, also among fewer ids than the model
// knows, with a prompt of several passes and where the window slides; a draw and a penalty read the copy; and what is not finite is named as the
// sampler does.
func TestLikeliestInPlace(t *testing.T) {
	for name, c := range variants() {
		w := newWeightsOn(t, onCPU(t), c)
		o := GeneratorOptions{Prefill: testChunk, Vocab: c.Vocab - 2}
		found, copied := newGenerator(t, w, o), newGenerator(t, w, o)
		if found.finder == nil {
			t.Fatal("the CPU finds nothing")
		}
		copied.finder = nil
		for i, options := range []Options{{}, {Temperature: 1}, {RepetitionPenalty: 1.3}, {RepetitionPenalty: 1}} {
			prompt := text(3+2*i, c.Vocab)
			got, want := collect(t, found, prompt, 2*testContext, options, i), collect(t, copied, prompt, 2*testContext, options, i)
			if !slices.Equal(got, want) {
				t.Errorf("%s, %+v: found in place %v, in a copy %v", name, options, got, want)
			}
			if found.inPlace != (i == 0 || i == 3) || copied.inPlace {
				t.Errorf("%s, %+v: found in place: %v", name, options, found.inPlace)
			}
			logits, err := found.Logits(prompt)
			if err != nil {
				t.Fatal(err)
			}
			if want, err := copied.Logits(prompt); err != nil || !slices.Equal(logits, want) {
				t.Errorf("%s: logits %v, want %v (%v)", name, logits, want, err)
			}
		}
		last := len(w.Table) - 1
		if err := w.Backend().Upload(w.Slab.View(last), slices.Repeat([]float32{float32(math.NaN())}, w.Table[last].Len())); err != nil {
			t.Fatal(err)
		}
		err := found.Generate(context.Background(), []int32{1, 2}, 1, newSampler(t, Options{}), 4, nil)
		if err == nil || !strings.Contains(err.Error(), "sequence 4, id at position 2: the logit of id 0 is NaN") {
			t.Errorf("%s, weights of NaN: %v", name, err)
		}
	}
}
