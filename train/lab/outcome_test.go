package lab

import (
	"math"
	"testing"

	"prenorm/data/batch"
)

// TestOutcomes judges courses by hand, with each bound from both sides. The text has 256 tokens and a unigram entropy of 3.2 nats; a run of 180 steps
// is 120 of one loss, 30 of another and 30 of a last one, which its sixths and its tail then are.
func TestOutcomes(t *testing.T) {
	text := &Text{Vocab: 256, Unigram: 3.2}
	course := func(begin, before, last float64) []float64 {
		var all []float64
		for i := range 180 {
			all = append(all, []float64{begin, begin, begin, begin, before, last}[i/30])
		}
		return all
	}
	uniform := math.Log(256)
	for _, c := range []struct {
		losses []float64
		want   Outcome
	}{
		{course(5, 2.4, 2.3), Trains},
		{course(5, 3.2, 3.2), Plateau},
		{course(5, 3.09, 3.09), Plateau}, {course(5, 3.07, 3.07), Trains}, // how far below the entropy
		{course(5, 3.49, 3.49), Plateau}, {course(5, 3.51, 3.51), Slow}, // how far above
		{course(5, 3.25, 3.2), Plateau}, {course(5, 3.15, 3.2), Plateau}, {course(5, 3.26, 3.19), Trains}, {course(5, 3.28, 3.21), Slow}, // how flat
		{course(5, 3.12, 3.19), Trains},                              // a rise is no plateau either
		{course(2, 2, 2.34), Trains}, {course(2, 2, 2.36), FellBack}, // how far above the best
		{course(0.3, 0.3, 2.99), FellBack}, {course(0.3, 0.3, 3), Jumped}, // tenfold
		{course(uniform+0.99, uniform+0.99, uniform+0.99), Slow}, {course(uniform+1.01, uniform+1.01, uniform+1.01), Diverged},
		{course(5, 4, math.NaN()), Diverged}, {course(5, 4, math.Inf(1)), Diverged}, {course(5, 2, 2)[:179], Diverged}, {nil, Diverged},
		{course(5, 4, 3.6), Slow},
	} {
		if got := OutcomeOf(c.losses, 180, text); got != c.want {
			t.Errorf("%d losses that end at %.2f: %s, want %s", len(c.losses), Final(c.losses), got, c.want)
		}
	}
	for o, failed := range map[Outcome]bool{Trains: false, Slow: false, Plateau: true, FellBack: true, Jumped: true, Diverged: true} {
		if o.Failed() != failed {
			t.Errorf("%s is a failure: %v", o, o.Failed())
		}
	}
}

// TestTail wants the end of a run to be a tenth of it, 20 steps at least.
func TestTail(t *testing.T) {
	for steps, want := range map[int]int{1: 1, 7: 7, 20: 20, 150: 20, 200: 20, 300: 30, 500: 50} {
		if got := tail(steps); got != want {
			t.Errorf("%d of %d steps, want %d", got, steps, want)
		}
	}
	if f := Final(append(make([]float64, 270), course(30, 2)...)); f != 2 {
		t.Errorf("the end of 300 steps has the loss %g, want 2", f)
	}
	if !math.IsNaN(Final(nil)) {
		t.Error("a run without steps has a loss")
	}
}

func course(n int, v float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = v
	}
	return x
}

// TestPlanted puts predictors in place of models on the text of the scorecard, batch by batch: one that has learned how often each letter comes and
// nothing else is found to sit at the unigram entropy; one that looks at the letter before is not; nor is one that has still to learn the frequencies.
func TestPlanted(t *testing.T) {
	text, err := OpenText(Opticks(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	if math.Abs(text.Unigram-3.164) > 5e-4 || math.Abs(text.Bigram-2.380) > 5e-4 {
		t.Errorf("entropies %.4f and %.4f, the page has 3.164 and 2.380", text.Unigram, text.Bigram)
	}
	ids := make([]int32, text.Train.Len())
	if err := text.Train.Read(ids, 0); err != nil {
		t.Fatal(err)
	}
	n, pairs, before := make([]float64, 256), make([][256]float64, 256), make([]float64, 256)
	for i, id := range ids {
		n[id]++
		if i > 0 {
			pairs[ids[i-1]][id]++
			before[ids[i-1]]++
		}
	}
	unigram := func(_, next int32) float64 { return n[next] / float64(len(ids)) }
	bigram := func(last, next int32) float64 { return pairs[last][next] / before[last] }
	blend := func(share float64) func(last, next int32) float64 {
		return func(last, next int32) float64 { return share*bigram(last, next) + (1-share)*unigram(last, next) }
	}
	const steps = 300
	run := func(seed int64, p func(step int, last, next int32) float64) []float64 {
		loader, err := batch.NewLoader(text.Train, 4, 32, seed)
		if err != nil {
			t.Fatal(err)
		}
		var losses []float64
		var b batch.Batch
		for step := range steps {
			if err := loader.Next(&b); err != nil {
				t.Fatal(err)
			}
			loss := 0.0
			for i, target := range b.Targets {
				loss -= math.Log(p(step, b.Inputs[i], target)) / float64(len(b.Targets))
			}
			losses = append(losses, loss)
		}
		return losses
	}
	always := func(p func(last, next int32) float64) func(int, int32, int32) float64 {
		return func(_ int, last, next int32) float64 { return p(last, next) }
	}
	for name, c := range map[string]struct {
		p    func(step int, last, next int32) float64
		want Outcome
	}{
		"frequencies alone":                  {always(unigram), Plateau},
		"the letter before":                  {always(bigram), Trains},
		"a little of the letter before":      {always(blend(0.1)), Trains},
		"the same chance for every byte":     {func(int, int32, int32) float64 { return 1. / 256 }, Slow},
		"surer from step to step, and wrong": {func(step int, _, next int32) float64 { return math.Exp(-6 - float64(step)/300) }, Diverged},
		"from good to ten times worse":       {func(step int, _, _ int32) float64 { return math.Exp(-0.5 - 6*math.Floor(float64(step)/200)) }, Jumped},
		"no number":                          {func(step int, _, _ int32) float64 { return math.NaN() }, Diverged},
		"from the letter before back to frequencies": {func(step int, last, next int32) float64 {
			if step < steps/2 {
				return bigram(last, next)
			}
			return unigram(last, next)
		}, Plateau},
	} {
		for seed := range int64(5) {
			losses := run(seed+1, c.p)
			if got := OutcomeOf(losses, steps, text); got != c.want {
				t.Errorf("%s, seed %d: %s with a loss of %.3f at the end, want %s", name, seed+1, got, Final(losses), c.want)
			}
		}
	}
	if got := OutcomeOf(run(1, always(unigram)), steps, &Text{Vocab: 256, Unigram: text.Unigram + 0.4}); got == Plateau {
		t.Error("a loss 0.4 below the entropy sits at it")
	}
}
