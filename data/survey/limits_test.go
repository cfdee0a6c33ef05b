package survey

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"prenorm/data"
)

// TestPackedLimits packs no more of a text than it may, and gives no more than the end of the training text.
func TestPackedLimits(t *testing.T) {
	defer func(packed, most int) { mostPacked, mostGiven = packed, most }(mostPacked, mostGiven)
	mostPacked, mostGiven = 3000, 1000
	r := rand.New(rand.NewPCG(1, 1))
	noise := make([]byte, 1000) // of 16 characters: 4 bits each
	for i := range noise {
		noise[i] = "ABCDEFGHIJKLMNOP"[r.IntN(16)]
	}
	again := strings.Repeat("again ", 1000)
	for name, c := range map[string]struct {
		train string
		given float64 // at most, in bits a byte
		least float64
	}{
		"at the end":              {rows(again, string(noise)), 0.4, 0},
		"at the end, in two":      {rows(again, string(noise[:500]), string(noise[500:])), 0.4, 0},
		"half of it out of reach": {rows(again, string(noise), again[:500]), 3, 1.5},
		"most of it out of reach": {rows(string(noise), again[:900]), 8.1, 3},
		"out of reach":            {rows(again, string(noise), again), 8.1, 4},
	} {
		s := survey(t, c.train, rows(string(noise), again), nil)
		if g := s.Val.Packed.ZstdGiven * 3; g > c.given || g < c.least { // the rest takes next to nothing
			t.Errorf("%s: %.2f bits a byte of noise, want %g to %g", name, g, c.least, c.given)
		}
		if s.Train.Packed.Bytes != min(3000, s.Train.Bytes) || s.Val.Packed.Bytes != 3000 {
			t.Errorf("%s: %d and %d bytes are packed", name, s.Train.Packed.Bytes, s.Val.Packed.Bytes)
		}
		if p := s.Val.Packed; 3*p.Gzip < 4 || 3*p.Gzip > 4.8 { // with its header and tables
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestLongDocuments has documents that come in stretches, between others that do not: all figures are those of whole documents.
func TestLongDocuments(t *testing.T) {
	const words = 1_100_000 // of 5 bytes with the space, which is more than 4 MiB
	long := func(seed uint64) string {
		r := rand.New(rand.NewPCG(seed, 1))
		var b strings.Builder
		for range words {
			fmt.Fprintf(&b, "%04x ", r.IntN(1<<16))
		}
		return b.String()
	}
	a, b := long(1), long(2)
	shared := tale(9, 100)
	files := map[string]string{}
	for name, texts := range map[string][]string{"train": {"first one", a + shared, "between", b, a + shared, tale(3, 20)}, "val": {shared, b[:400], "the last"}} {
		for i, text := range texts {
			files[fmt.Sprintf("%s%d.txt", name, i+1)] = text
		}
	}
	put(t, files)
	s := run(t, func(c *data.Config) { c.Train, c.Val.Files = []string{"train*.txt"}, []string{"val*.txt"} })
	if v := s.Train; v.Documents != 6 || v.Words != 2+3*words+200+1+20 || v.Bytes != v.Characters || v.Bytes != int64(9+2*len(a+shared)+7+len(b)+len(tale(3, 20))) {
		t.Errorf("%d documents, %d words, %d bytes, %d characters", v.Documents, v.Words, v.Bytes, v.Characters)
	}
	if got := s.Train.Lengths[len(s.Train.Lengths)-1]; got.Documents != 3 || got.Below != 8<<20 || got.Bytes != int64(2*len(a+shared)+len(b)) {
		t.Errorf("%+v", got)
	}
	if c := s.Copies; c.Compared != 9 || c.Exact != 1 || c.Near != 0 || c.Bytes != int64(len(a+shared)) || c.List[0].Document != "train5.txt" || c.List[0].Of != "train2.txt" {
		t.Errorf("%+v", c)
	}
	o := s.Overlap
	if o.Grams != 88+68+1 || o.Found != 88+68 || o.All != 2 || len(o.List) != 2 || o.List[0].Train != "train2.txt" || o.List[1].Train != "train4.txt" {
		t.Errorf("%+v", o)
	}
}

// TestFigures holds every figure of a text against sums of its own.
func TestFigures(t *testing.T) {
	s := survey(t, rows("ab ab ab", "ba"), rows("abba"), nil)
	// Ten training tokens: a 4, b 4, space 2. Of 256 ids p(b|a) is smoothed by what follows a: b and a separator that byte has none of.
	p := func(n float64) float64 { return (n + 1) / (10 + 256) }
	after := func(pair, all, kinds, p float64) float64 { return (pair + kinds*p) / (all + kinds) }
	l := s.Lines
	unigram := -(2*math.Log(p(4)) + math.Log(p(4))) / 3
	// Pairs: a-b 3, b-space 2, space-a 2, b-b 1 (across documents), b-a 1.
	bigram := -(math.Log(after(3, 3, 1, p(4))) + math.Log(after(1, 4, 3, p(4))) + math.Log(after(1, 4, 3, p(4)))) / 3
	if math.Abs(l.Uniform-math.Log(256)) > 1e-12 || math.Abs(l.Unigram-unigram) > 1e-12 || math.Abs(l.Bigram-bigram) > 1e-12 || l.Pairs != 9 || l.Targets != 3 || l.Full {
		t.Errorf("%+v, want unigram %g, bigram %g", l, unigram, bigram)
	}
	if want := 0.8*math.Log(2.5) + 0.2*math.Log(5); math.Abs(l.TrainUnigram-want) > 1e-12 {
		t.Errorf("unigram on itself %g, want %g", l.TrainUnigram, want)
	}
	// Of four b with a token behind them two go to a space, one to b, one to a; a and spaces leave no choice.
	if want := (2*math.Log(2) + 2*math.Log(4)) / 9; math.Abs(l.TrainBigram-want) > 1e-12 {
		t.Errorf("bigram on itself %g, want %g", l.TrainBigram, want)
	}
	if b := l.BitsPerByte; math.Abs(b.Unigram-unigram/math.Ln2) > 1e-12 || math.Abs(b.Bigram-bigram/math.Ln2) > 1e-12 || b.Uniform != 8 {
		t.Errorf("%+v", b)
	}
	if s.Tokenizer != "byte" || s.Vocab != 256 || !s.Text || s.TokenFiles || s.Sources != nil || s.Stages != nil {
		t.Errorf("%+v", s)
	}
}

// TestStopped ends a survey at every time that it asks, with the error that it is given, and leaves nothing behind.
func TestStopped(t *testing.T) {
	put(t, map[string]string{"train.jsonl": rows(tale(1, 100), tale(2, 100)), "val.jsonl": rows(tale(3, 50))})
	ended := errors.New("ended")
	asked, most := 0, math.MaxInt
	stop := func() error {
		if asked++; asked > most {
			return ended
		}
		return nil
	}
	whole := stopped(t, stop)
	if whole.err != nil || asked < 8 {
		t.Fatalf("asked %d times, %v", asked, whole.err)
	}
	for all := asked; most > 0; {
		most = min(most, all) - 1
		asked = 0
		if again := stopped(t, stop); !errors.Is(again.err, ended) || again.survey != nil || asked != most+1 {
			t.Errorf("stopped at question %d: asked %d times, %+v, %v", most+1, asked, again.survey, again.err)
		}
	}
	most, asked = math.MaxInt, 0
	if again := stopped(t, stop); !reflect.DeepEqual(again, whole) {
		t.Errorf("%+v, was %+v", again, whole)
	}
}
