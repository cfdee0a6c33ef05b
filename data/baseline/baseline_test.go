package baseline

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// ids is a stream in memory.
type ids []int32

func (x ids) Len() int64                        { return int64(len(x)) }
func (x ids) Read(dst []int32, off int64) error { copy(dst, x[off:]); return nil }
func within(a, b, tolerance float64) bool       { return math.Abs(a-b) <= tolerance }
func repeat(n int, id func(i int) int32) (stream ids) {
	for i := range n {
		stream = append(stream, id(i))
	}
	return stream
}

// broken is a stream that cannot be read.
type broken struct{}

func (broken) Len() int64                { return 8 }
func (broken) Read([]int32, int64) error { return errors.New("broken") }

// small makes limits smaller during a test; 0 leaves one as it is.
func small(t *testing.T, dense, most int, counted, targets int64) {
	before := [4]int64{int64(denseVocab), int64(mostPairs), mostCounted, mostTargets}
	t.Cleanup(func() {
		denseVocab, mostPairs, mostCounted, mostTargets = int(before[0]), int(before[1]), before[2], before[3]
	})
	denseVocab = dense
	if most > 0 {
		mostPairs = most
	}
	if counted > 0 {
		mostCounted, mostTargets = counted, targets
	}
}

// TestMean wants means by weights, the lines of one text unchanged, and none where one is not known.
func TestMean(t *testing.T) {
	a := Lines{Uniform: 3, Unigram: 2.7, Bigram: 1.1, Pairs: 5, Targets: 7}
	b := Lines{Uniform: 3, Unigram: 1.2, Bigram: 0.6, Pairs: 6, Targets: 8, Full: true}
	if got := Mean([]Lines{a}, []float64{2.5}); got != a {
		t.Errorf("one text: %+v", got)
	}
	got := Mean([]Lines{a, b}, []float64{1, 2}).Times(10)
	if !within(got.Uniform, 30, 1e-12) || !within(got.Unigram, 17, 1e-12) || !within(got.Bigram, 23./3, 1e-12) || got.Pairs != 11 || got.Targets != 15 || !got.Full {
		t.Errorf("%+v", got)
	}
	if got := Mean([]Lines{a, {}}, []float64{1, 2}); got != (Lines{}) {
		t.Errorf("an unknown text: %+v", got)
	}
}

// TestCycle has a text that repeats all ids in turn: a closed form for every line. Matrix and table give the same bits.
func TestCycle(t *testing.T) {
	const vocab, rounds = 7, 50
	cycle := repeat(vocab*rounds, func(i int) int32 { return int32(i % vocab) })
	dense, err := Measure(cycle, cycle, vocab, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Every id comes as often, so that smoothing leaves p(b) = 1/V. Of all ids but the last, which is a pair's first once less, c(a) = 50.
	p := func(c float64) float64 { return (c + 1./vocab) / (c + 1) }
	n := float64(vocab*rounds - 1)
	bigram := -(rounds*(vocab-1)*math.Log(p(rounds)) + (rounds-1)*math.Log(p(rounds-1))) / n
	if !within(dense.Uniform, math.Log(vocab), 0) || !within(dense.Unigram, math.Log(vocab), 1e-12) || !within(dense.Bigram, bigram, 1e-12) || dense.Targets != int64(n) || dense.Pairs != int64(n) || dense.Full {
		t.Errorf("%+v, want bigram %g", dense, bigram)
	}
	small(t, 0, 0, 0, 0)
	if table, err := Measure(cycle, cycle, vocab, nil); err != nil || table != dense {
		t.Errorf("table %+v, matrix %+v, %v", table, dense, err)
	}
}

// TestByHand has a text with an id that different ones follow.
func TestByHand(t *testing.T) {
	l, err := Measure(ids{0, 1, 0, 2, 0, 1}, ids{0, 1, 0, 2}, 3, nil)
	// Smoothed frequencies are 4/9, 3/9 and 2/9. Of three pairs with 0 two go to 1, so that p(1|0) = (2+2*3/9)/(3+2), p(2|0) = (1+2*2/9)/5; p(0|1) = (1+4/9)/(1+1).
	unigram, bigram := -math.Log(3./9*4/9*2/9)/3, -math.Log(8./15*13/18*13/45)/3
	if err != nil || !within(l.Unigram, unigram, 1e-12) || !within(l.Bigram, bigram, 1e-12) {
		t.Errorf("%+v, want %g and %g, %v", l, unigram, bigram, err)
	}
}

// TestSources has texts drawn from known distributions, train and validation apart. Lines are means over n targets: with a standard deviation
// of ln p below 2, four standard errors are below 8/sqrt(n), and what smoothing costs is below V²/n.
func TestSources(t *testing.T) {
	const n = 200000
	for name, c := range map[string]struct {
		vocab           int
		next            func(r *rand.Rand, last int32) int32
		unigram, bigram float64
	}{
		"independent and even": {5, func(r *rand.Rand, _ int32) int32 { return r.Int32N(5) }, math.Log(5), math.Log(5)},
		"independent": {3, func(r *rand.Rand, _ int32) int32 { return max(0, r.Int32N(4)-1) }, // 1/2, 1/4, 1/4
			1.5 * math.Ln2, 1.5 * math.Ln2},
		// Two states that are left with probability 1/10.
		"chain": {2, func(r *rand.Rand, last int32) int32 {
			if r.Float64() < 0.1 {
				return 1 - last
			}
			return last
		}, math.Ln2, -0.1*math.Log(0.1) - 0.9*math.Log(0.9)},
	} {
		draw := func(seed uint64) ids {
			r, last := rand.New(rand.NewPCG(seed, 1)), int32(0)
			return repeat(n, func(int) int32 { last = c.next(r, last); return last })
		}
		l, err := Measure(draw(1), draw(2), c.vocab, nil)
		tolerance := 8/math.Sqrt(n) + float64(c.vocab*c.vocab)/n
		if err != nil || !within(l.Unigram, c.unigram, tolerance) || !within(l.Bigram, c.bigram, tolerance) {
			t.Errorf("%s: %+v, %v, want %g and %g", name, l, err, c.unigram, c.bigram)
		}
	}
}

// TestHonest wants pairs of the validation text not to be counted: text at random has a high bigram line, however few pairs repeat.
func TestHonest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const vocab = 500
	draw := func(n int) ids { return repeat(n, func(int) int32 { return r.Int32N(vocab) }) }
	train, val := draw(5000), draw(5000)
	l, err := Measure(train, val, vocab, nil)
	if err != nil {
		t.Fatal(err)
	}
	small(t, 0, 0, 0, 0) // a table, which grows
	if table, err := Measure(train, val, vocab, nil); err != nil || table != l {
		t.Errorf("table %+v, matrix %+v, %v", table, l, err)
	}
	if _, in, err := InSample(val, vocab, nil); err != nil || in > 3 || l.Bigram < l.Uniform {
		t.Errorf("bigram %.2f, in sample %.2f, ln V %.2f, %v", l.Bigram, in, l.Uniform, err)
	}
}

// TestTableIsBounded fills the table with the most pairs, by which it does not grow once more.
func TestTableIsBounded(t *testing.T) {
	const most = 1 << 12
	small(t, 0, most, 0, 0)
	p := newPairs(most + 1)
	for i := range int32(most + 1) {
		if first, ok := p.add(i, 0); !first || ok != (i < most) {
			t.Fatalf("pair %d: %v, %v", i, first, ok)
		}
	}
	if len(p.keys) != 2*most || len(p.counts) != 2*most || p.of(most-1, 0) != 1 || p.of(most, 0) != 0 {
		t.Errorf("%d and %d places for %d pairs", len(p.keys), len(p.counts), most)
	}
}

// TestStop has a stop that comes before each block in turn, until all is read: it ends the work with its error, and changes no line.
func TestStop(t *testing.T) {
	text := repeat(2*block+5, func(i int) int32 { return int32(i % 3) })
	want, err := Measure(text, text, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := errors.New("ended")
	for blocks := 0; ; blocks++ {
		asked := 0
		l, _, err := Open(t.TempDir(), Prints{"t", "a", "b"}, text, text, 3, func() error {
			if asked++; asked > blocks {
				return ended
			}
			return nil
		})
		if err == nil && blocks == 9 && asked == 9 && l == want { // three blocks, each read for its tokens, for its pairs and for its targets
			return
		}
		if !errors.Is(err, ended) || asked != blocks+1 || blocks == 9 {
			t.Fatalf("stopped before block %d: asked %d times, %+v, %v", blocks, asked, l, err)
		}
	}
}

// TestLimits wants a full table to end counting, and long texts to be read in places all over.
func TestLimits(t *testing.T) {
	small(t, 0, 10, 0, 0)
	train := repeat(40, func(i int) int32 { return int32(i) })
	l, err := Measure(train, train, 40, nil)
	if err != nil || !l.Full || l.Pairs != 10 {
		t.Errorf("%+v, %v", l, err)
	}
	small(t, 0, 1<<20, 64*10, 64*10)
	// Blocks of 100 tokens of one id each, 640 of 64000 read: ten of each of 64 stretches.
	long := repeat(64000, func(i int) int32 { return int32(i / 1000) })
	if l, err = Measure(long, long, 64, nil); err != nil || l.Full || l.Pairs != 64*9 || l.Targets != 64*9 {
		t.Errorf("%+v, %v", l, err)
	}
	if _, in, _ := InSample(long, 64, nil); in != 0 {
		t.Errorf("stretches of one id have a bigram entropy of %g", in)
	}
}

// TestInSample holds both entropies against small texts by hand, in a matrix and in a table.
func TestInSample(t *testing.T) {
	for _, dense := range []int{2048, 0} {
		small(t, dense, 0, 0, 0)
		for _, c := range []struct {
			ids             ids
			unigram, bigram float64
		}{
			{ids{0, 1, 0, 1, 0, 1, 0, 1}, math.Ln2, 0},
			// Half of the tokens are 0, a quarter 1 and a quarter 2. Of seven pairs four begin with 0, which is followed by 0 twice and by 1 twice.
			{ids{0, 0, 1, 2, 0, 0, 1, 2}, 0.5*math.Ln2 + 2*0.25*math.Log(4), 4. / 7 * math.Ln2},
			// Three of four are 3; of three pairs, two begin with 3 and go to 3 and to 1.
			{ids{3, 3, 1, 3}, -0.75*math.Log(0.75) + 0.25*math.Log(4), 2. / 3 * math.Ln2},
			{ids{2, 2, 2}, 0, 0},
		} {
			unigram, bigram, err := InSample(c.ids, 5, nil)
			if err != nil || math.Abs(unigram-c.unigram) > 1e-12 || math.Abs(bigram-c.bigram) > 1e-12 {
				t.Errorf("%v: unigram %g, want %g, bigram %g, want %g, %v", c.ids, unigram, c.unigram, bigram, c.bigram, err)
			}
		}
	}
	for _, text := range []Tokens{broken{}, ids{0, 5}, ids{-1}} {
		if _, _, err := InSample(text, 5, nil); err == nil {
			t.Errorf("%v has entropies", text)
		}
		if _, err := Measure(text, ids{0, 1}, 5, nil); err == nil {
			t.Errorf("%v has lines", text)
		}
	}
	if _, err := Measure(ids{0, 1}, ids{0}, 5, nil); err == nil {
		t.Error("a validation text of one token has lines")
	}
}

func TestStand(t *testing.T) {
	l := Lines{Uniform: 6, Unigram: 5, Bigram: 4}
	for loss, want := range map[float64]string{6.5: "above ln V", 6.01: "at ln V", 5.5: "above the unigram level", 5.04: "at the unigram level", 4.96: "at the unigram level",
		4.5: "below the unigram level, above the bigram", 4.03: "at the bigram", 3.9: "below the bigram", math.NaN(): "", math.Inf(1): ""} {
		if got := l.Stand(loss); len(got) < len(want) || got[:len(want)] != want || want == "" && got != "" {
			t.Errorf("%g stands %q, want %q", loss, got, want)
		}
	}
	// A bigram that tells nothing is no line to stand at.
	if got := (Lines{Uniform: 6, Unigram: 5, Bigram: 5.5}).Stand(4); got != "below the unigram level: context is used" {
		t.Error(got)
	}
}

// TestKept wants lines to be kept for the same texts alone, and every damaged byte of their file to be noticed.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	text := ids{0, 1, 2, 0, 1}
	p := Prints{"t", "a", "b"}
	l, kept, err := Open(dir, p, text, text, 3, nil)
	if err != nil || kept != nil {
		t.Fatal(err, kept)
	}
	if again, _, err := Open(dir, p, broken{}, broken{}, 3, nil); err != nil || again != l {
		t.Errorf("%+v, %v, kept were %+v", again, err, l)
	}
	for _, other := range []Prints{{"x", "a", "b"}, {"t", "x", "b"}, {"t", "a", "x"}, {"ta", "", "b"}} {
		if _, ok := Kept(dir, other); ok {
			t.Errorf("lines of %v are those of %v", other, p)
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "lines-*.json"))
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range content {
		bad := append([]byte(nil), content...)
		bad[i] ^= 1
		if err := os.WriteFile(files[0], bad, 0o666); err != nil {
			t.Fatal(err)
		}
		if got, ok := Kept(dir, p); ok && got != l {
			t.Fatalf("byte %d: %+v", i, got)
		} else if ok && i < len(content)-1 {
			t.Errorf("byte %d may change", i)
		}
	}
	if _, kept, err := Open(filepath.Join(dir, "none"), p, text, text, 3, nil); err != nil || kept == nil {
		t.Errorf("a folder that is not there: %v, %v", kept, err)
	}
}
