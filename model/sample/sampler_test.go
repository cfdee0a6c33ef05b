package sample

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
)

// beyond is a number of which the lower half of an int's bits is 0: 1 << 32 where an int has 64.
const beyond = 1 << (bits.UintSize / 2)

// direct is the distribution after the filters the long way: every step sorts all ids and normalises all probabilities.
func direct(o Options, logits []float32, seen []int32) []float64 {
	z := make([]float64, len(logits))
	ids := make([]int, len(logits))
	for id, x := range logits {
		z[id], ids[id] = float64(x), id
		if o.RepetitionPenalty > 0 && slices.Contains(seen, int32(id)) {
			if x > 0 {
				z[id] /= o.RepetitionPenalty
			} else {
				z[id] *= o.RepetitionPenalty
			}
		}
		z[id] /= o.Temperature
	}
	slices.SortStableFunc(ids, func(a, b int) int { return cmp.Compare(z[b], z[a]) })
	if o.TopK > 0 {
		ids = ids[:min(o.TopK, len(ids))]
	}
	p := softmax(z, ids)
	if o.TopP > 0 && o.TopP < 1 {
		sum, n := 0.0, 0
		for sum < o.TopP && n < len(ids) {
			sum += p[ids[n]]
			n++
		}
		ids = ids[:n]
		p = softmax(z, ids)
	}
	most := p[ids[0]]
	ids = slices.DeleteFunc(ids, func(id int) bool { return p[id] < o.MinP*most })
	return softmax(z, ids)
}

// softmax normalises over the given ids and is zero elsewhere.
func softmax(z []float64, ids []int) []float64 {
	p, total := make([]float64, len(z)), 0.0
	for _, id := range ids {
		p[id] = math.Exp(z[id] - z[ids[0]])
		total += p[id]
	}
	for id := range p {
		p[id] /= total
	}
	return p
}

// randomLogits are n normal numbers rounded to quarters when tied, so that many are equal.
func randomLogits(r *rand.Rand, n int, tied bool) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(3 * r.NormFloat64())
		if tied {
			x[i] = float32(math.Round(4*float64(x[i]))) / 4
		}
	}
	return x
}

func TestFiltersEqualDirectOnes(t *testing.T) {
	filters := []Options{
		{Temperature: 1}, {Temperature: 0.3}, {Temperature: 4},
		{Temperature: 1, TopK: 1}, {Temperature: 1, TopK: 5}, {Temperature: 1, TopK: 40}, {Temperature: 1, TopK: 1000},
		{Temperature: 1, TopP: 0.01}, {Temperature: 1, TopP: 0.5}, {Temperature: 2, TopP: 0.95}, {Temperature: 1, TopP: 1}, {Temperature: 1, TopP: 1 - 1e-16},
		{Temperature: 1, MinP: 0.001}, {Temperature: 2, MinP: 0.1}, {Temperature: 1, MinP: 0.9},
		{Temperature: 1, RepetitionPenalty: 1.3}, {Temperature: 1, RepetitionPenalty: 0.7},
		{Temperature: 0.9, TopK: 20, TopP: 0.8}, {Temperature: 1.5, TopK: 30, TopP: 0.9, MinP: 0.05, RepetitionPenalty: 1.2},
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, o := range filters {
		s := newSampler(t, o)
		kept := map[int]bool{}
		for round := range 60 {
			logits := randomLogits(r, []int{1, 2, 7, 50, 51}[round%5], round%2 == 1)
			seen := []int32{0, int32(len(logits) / 2), 0}
			want := direct(o, logits, seen)
			if err := s.load(logits, seen); err != nil {
				t.Fatal(err)
			}
			total := s.weigh()
			n := 0
			for id, w := range s.weights {
				if (w > 0) != (want[id] > 0) || math.Abs(w/total-want[id]) > 1e-12 {
					t.Fatalf("%+v, logits %v: probability of id %d is %v, want %v", o, logits, id, w/total, want[id])
				}
				if w > 0 {
					n++
				}
			}
			kept[n] = true
		}
		if o.TopK == 5 && !kept[5] || len(kept) < 2 && o.TopK != 1 && o.TopP != 0.01 {
			t.Errorf("%+v kept %v ids", o, kept)
		}
	}
}

func TestFiltersByHand(t *testing.T) {
	ln := func(p float64) float32 { return float32(math.Log(p)) }
	logits := []float32{ln(0.1), ln(0.4), ln(0.2), ln(0.3)}
	for _, k := range []struct {
		o    Options
		want []float64
	}{
		{Options{Temperature: 1}, []float64{0.1, 0.4, 0.2, 0.3}},
		{Options{Temperature: 0.5}, []float64{1. / 30, 16. / 30, 4. / 30, 9. / 30}},
		{Options{Temperature: 1, TopK: 2}, []float64{0, 4. / 7, 0, 3. / 7}},
		{Options{Temperature: 1, TopP: 0.69}, []float64{0, 4. / 7, 0, 3. / 7}},
		{Options{Temperature: 1, TopP: 0.71}, []float64{0, 4. / 9, 2. / 9, 3. / 9}},
		{Options{Temperature: 1, TopK: 2, TopP: 0.56}, []float64{0, 1, 0, 0}}, // 4/7 is enough after top-k
		{Options{Temperature: 1, MinP: 0.49}, []float64{0, 4. / 9, 2. / 9, 3. / 9}},
		{Options{Temperature: 1, MinP: 0.51}, []float64{0, 4. / 7, 0, 3. / 7}},
		{Options{Temperature: 0.5, MinP: 0.49}, []float64{0, 16. / 25, 0, 9. / 25}}, // after the temperature
	} {
		s := newSampler(t, k.o)
		if err := s.load(logits, nil); err != nil {
			t.Fatal(err)
		}
		total := s.weigh()
		for id, w := range s.weights {
			if math.Abs(w/total-k.want[id]) > 1e-7 {
				t.Errorf("%+v: probability of id %d is %v, want %v", k.o, id, w/total, k.want[id])
			}
		}
	}
}

func TestRepetitionPenaltyByHand(t *testing.T) {
	s := newSampler(t, Options{RepetitionPenalty: 2})
	logits := []float32{3, -1, 0, 2, -4}
	if err := s.load(logits, []int32{0, 1, 2, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if want := []float64{1.5, -2, 0, 2, -4}; !slices.Equal(s.z, want) {
		t.Errorf("penalised %v, want %v", s.z, want)
	}
	if id, err := s.Next(logits, []int32{0}, 0, 0); id != 3 || err != nil {
		t.Errorf("greedy under the penalty: %d, %v", id, err)
	}
	if !slices.Equal(logits, []float32{3, -1, 0, 2, -4}) {
		t.Error("the logits have been changed")
	}
	if _, err := s.Next(logits, []int32{2, 5}, 0, 0); err == nil || !strings.Contains(err.Error(), "id 5, number 1 of those seen") {
		t.Errorf("unknown id: %v", err)
	}
}

func TestGreedy(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	greedy, cold := newSampler(t, Options{}), newSampler(t, Options{Temperature: 1e-9})
	coldest := newSampler(t, Options{Temperature: 5e-324, TopP: 0.9, MinP: 0.1})
	for i := range 200 {
		logits := randomLogits(r, 30, false)
		want := int32(slices.Index(logits, slices.Max(logits)))
		for _, s := range []*Sampler{greedy, cold, coldest} {
			if got, err := s.Next(logits, nil, 0, i); got != want || err != nil {
				t.Fatalf("%+v: id %d, %v, want %d", s.options, got, err, want)
			}
		}
	}
	if id, err := greedy.Next([]float32{1, 5, 5, 5}, nil, 0, 0); id != 1 || err != nil {
		t.Errorf("a tie goes to id %d, %v", id, err)
	}
}

// counts draws n ids at positions 0 … n-1.
func counts(t *testing.T, s *Sampler, logits []float32, sequence, n int) []float64 {
	t.Helper()
	c := make([]float64, len(logits))
	for i := range n {
		id, err := s.Next(logits, nil, sequence, i)
		if err != nil {
			t.Fatal(err)
		}
		c[id]++
	}
	return c
}

// The statistic of Pearson's test lies above 40 for 7 degrees of freedom or fewer once in 800,000 times. The seeds are fixed.
func TestDistribution(t *testing.T) {
	logits := []float32{0.5, -1, 2, 0, 1.5, -0.3, -2, 1}
	const n = 40000
	for _, o := range []Options{{Temperature: 1}, {Temperature: 2, Seed: -3}, {Temperature: 1, TopK: 4}, {Temperature: 1, TopP: 0.8, Seed: 1 << 40}, {Temperature: 1, MinP: 0.1}} {
		for _, sequence := range []int{0, 1, 2 * beyond} {
			got, want, chi := counts(t, newSampler(t, o), logits, sequence, n), direct(o, logits, nil), 0.0
			for id, p := range want {
				if p == 0 {
					if got[id] > 0 {
						t.Errorf("%+v: id %d was dropped and drawn", o, id)
					}
					continue
				}
				chi += (got[id] - n*p) * (got[id] - n*p) / (n * p)
			}
			if !(chi < 40) {
				t.Errorf("%+v, sequence %d: chi-square %.1f; drawn %v of %d, probabilities %.4f", o, sequence, chi, got, n, want)
			}
		}
	}
}

func TestRandomNumbers(t *testing.T) {
	seen := map[float64]string{}
	for _, seed := range []int64{0, 1, 1 << 32, -1} {
		for _, sequence := range []int{0, 1, beyond} {
			for _, position := range []int{0, 1, 2, beyond} {
				u := kernels.SampleUniform(seed, sequence, position)
				what := fmt.Sprint(seed, sequence, position)
				if before, ok := seen[u]; ok || u < 0 || u >= 1 {
					t.Errorf("seed, sequence, position %s: %v, which is that of %q", what, u, before)
				}
				seen[u] = what
				if u != kernels.SampleUniform(seed, sequence, position) {
					t.Error("a random number changes")
				}
			}
		}
	}
}

func TestDrawEnds(t *testing.T) {
	s := newSampler(t, Options{Temperature: 1})
	s.weights = []float64{0, 0.25, 0, 0.75, 0}
	for u, want := range map[float64]int32{0: 1, 0.2499: 1, 0.25: 3, 1 - 1.0/(1<<53): 3, 1: 3} {
		if got := s.draw(1, u); got != want {
			t.Errorf("draw at %v: id %d, want %d", u, got, want)
		}
	}
}

func TestBadLogits(t *testing.T) {
	for _, o := range []Options{{}, {Temperature: 1, TopK: 2}} {
		s := newSampler(t, o)
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			_, err := s.Next([]float32{0, 1, float32(x)}, nil, 3, 17)
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("sequence 3, id at position 17: the logit of id 2 is %v", x)) {
				t.Errorf("logit %v: error %v", x, err)
			}
		}
		if _, err := s.Next(nil, nil, 0, 0); err == nil {
			t.Error("no logits, no error")
		}
		big := float32(math.MaxFloat32)
		if id, err := s.Next([]float32{-big, big, -big}, nil, 0, 0); id != 1 || err != nil {
			t.Errorf("extreme logits: %d, %v", id, err)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{}, {Temperature: 100, TopK: math.MaxInt32, TopP: 1, MinP: 0.999, RepetitionPenalty: 1}} {
		if p := o.Problems(); len(p) != 0 {
			t.Errorf("%+v: %v", o, p)
		}
	}
	nan := math.NaN()
	for _, o := range []Options{
		{Temperature: -1, TopK: -1, TopP: 1.1, MinP: 1, RepetitionPenalty: -1},
		{Temperature: 101, TopK: -9, TopP: -0.1, MinP: -1, RepetitionPenalty: 101},
		{Temperature: nan, TopK: -1, TopP: nan, MinP: nan, RepetitionPenalty: nan},
	} {
		var keys []string
		for _, p := range o.Problems() {
			keys = append(keys, p.Key)
		}
		if want := []string{"temperature", "top_k", "top_p", "min_p", "repetition_penalty"}; !slices.Equal(keys, want) {
			t.Errorf("%+v: problems of %v", o, keys)
		}
		if _, err := NewSampler(o); err == nil {
			t.Errorf("%+v makes a sampler", o)
		}
	}
}

func TestSamplerAllocatesOnce(t *testing.T) {
	s := newSampler(t, Options{Temperature: 1, TopK: 20, TopP: 0.9, MinP: 0.01, RepetitionPenalty: 1.1})
	logits, seen, at := randomLogits(rand.New(rand.NewPCG(5, 6)), 1000, false), []int32{1, 2, 3}, 0
	n := testing.AllocsPerRun(20, func() { // the first, which it does not count, makes the buffers
		if _, err := s.Next(logits, seen, 0, at); err != nil {
			t.Fatal(err)
		}
		at++
	})
	if n != 0 {
		t.Errorf("%v allocations a token", n)
	}
}

func BenchmarkNext(b *testing.B) {
	logits := randomLogits(rand.New(rand.NewPCG(7, 8)), 50257, false)
	for name, o := range map[string]Options{"greedy": {}, "all": {Temperature: 1}, "topk": {Temperature: 0.8, TopK: 50}, "topp": {Temperature: 0.8, TopP: 0.95}, "minp": {Temperature: 1, MinP: 0.05}} {
		b.Run(name, func(b *testing.B) {
			s := newSampler(b, o)
			b.ReportAllocs()
			for i := range b.N {
				if _, err := s.Next(logits, nil, 0, i); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
