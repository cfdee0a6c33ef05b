package dedup

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// words of a text, by their hashes.
func words(parts ...string) (hashes []uint64) {
	w := NewWords(func(h uint64) { hashes = append(hashes, h) })
	for _, p := range parts {
		w.Add([]byte(p))
	}
	w.End()
	return hashes
}

func TestWords(t *testing.T) {
	want := words("hello brave new world 42 été")
	if len(want) != 6 {
		t.Fatalf("%d words", len(want))
	}
	for _, parts := range [][]string{{"Hello, brave\n\nNEW  world! (42) Été."}, {"hel", "lo bra", "ve new wor", "ld 4", "2 ét", "é"}} {
		if got := words(parts...); !slices.Equal(got, want) {
			t.Errorf("%q has other words", parts)
		}
	}
	if got := words("日本語のa b"); len(got) != 6 {
		t.Errorf("four characters without spaces and two letters are %d words", len(got))
	}
	if got := words("e\u0301te\u0301 \u0663\u0664 한국어"); len(got) != 3 { // letters with marks behind them, other digits, a script with spaces
		t.Errorf("three words are %d", len(got))
	}
	if got := words("?! -- \n"); got != nil {
		t.Errorf("punctuation has words: %v", got)
	}
}

func TestGrams(t *testing.T) {
	grams := func(texts ...string) (hashes []uint64) {
		g := NewGrams(3, func(h uint64) { hashes = append(hashes, h) })
		for _, text := range texts {
			g.Add([]byte(text))
			g.End()
		}
		return hashes
	}
	long := grams("a b c d e")
	if len(long) != 3 || !slices.Equal(grams("x a b c")[1:], long[:1]) || grams("c b a")[0] == long[0] {
		t.Errorf("%v", long)
	}
	if short := grams("a b"); len(short) != 1 || short[0] == long[0] || len(grams("")) != 0 {
		t.Errorf("a short text has %v", short)
	}
	// As many words as a gram has are one gram, and a text begins anew behind another.
	if one := grams("a b c"); len(one) != 1 || one[0] != long[0] {
		t.Errorf("three words have %v", one)
	}
	if got, want := grams("x y z w", "a b", "", "a b c d e"), slices.Concat(grams("x y z w"), grams("a b"), long); !slices.Equal(got, want) {
		t.Errorf("texts one after another have %v, want %v", got, want)
	}
}

// printOf is the print of a text, which comes in stretches of so many bytes.
func printOf(p *Printer, text string, stretch int) Print {
	for len(text) > stretch {
		p.Add([]byte(text[:stretch]))
		text = text[stretch:]
	}
	p.Add([]byte(text))
	return p.End()
}

// story is a text of n random words of 50000.
func story(r *rand.Rand, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("w%d", r.IntN(50000))
	}
	return list
}

// like is a text whose set of shingles has about the given Jaccard similarity with that of base: of its n shingles the last m are others.
// Then s = (n-m)/(n+m).
func like(r *rand.Rand, base []string, s float64) []string {
	n := float64(len(base) - Shingle + 1)
	m := int(math.Round(n * (1 - s) / (1 + s)))
	out := slices.Clone(base)
	copy(out[len(out)-m:], story(r, m))
	return out
}

func TestPrint(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	p := NewPrinter()
	text := strings.Join(story(r, 500), " ")
	whole := printOf(p, text, len(text))
	if again := printOf(p, text, 7); again != whole {
		t.Error("a text in stretches has another print")
	}
	if a, b := printOf(p, "", 1), printOf(p, "...", 9); a.Words || b.Words || a.Exact == b.Exact {
		t.Error("texts without words")
	}
	shouted := printOf(p, strings.ToUpper(text)+"!", 9999)
	if shouted.Exact == whole.Exact || shouted.Min != whole.Min {
		t.Error("case and punctuation count")
	}
}

// TestEstimate wants similarities to be estimated without bias, and with the standard error of independent functions: means over 200 pairs are
// within four standard errors of sqrt(s(1-s)/128/200), and the standard deviation is within four of its own, a share of 1/sqrt(2*200).
func TestEstimate(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	p := NewPrinter()
	for _, s := range []float64{0.2, 0.5, 0.8, 0.95} {
		mean, squares := 0.0, 0.0
		const pairs = 200
		for range pairs {
			base := story(r, 300)
			a, b := printOf(p, strings.Join(base, " "), 9999), printOf(p, strings.Join(like(r, base, s), " "), 9999)
			x := a.Similarity(&b)
			mean += x / pairs
			squares += x * x / pairs
		}
		// A whole number of shingles rounds s by up to half of 2/300.
		if tolerance := 4*math.Sqrt(s*(1-s)/Functions/pairs) + 0.004; math.Abs(mean-s) > tolerance {
			t.Errorf("similarity %g is estimated as %.4f, tolerance %.4f", s, mean, tolerance)
		}
		if spread, want := math.Sqrt(squares-mean*mean), math.Sqrt(s*(1-s)/Functions); math.Abs(spread/want-1) > 4/math.Sqrt(2*pairs) {
			t.Errorf("similarity %g: standard deviation %.4f, want %.4f", s, spread, want)
		}
	}
}

// TestRecall plants pairs of known similarities among other texts. How many are found must be what banding and the estimate allow: the
// probability that one of 16 bands of 8 agrees, times that of an estimate of 0.8 or more, within four standard errors.
func TestRecall(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	p := NewPrinter()
	const pairs = 200
	for _, c := range []struct{ s, low, high float64 }{
		{1, 1, 1}, {0.95, 0.99, 1}, {0.9, 0.97, 1},
		{0.85, 0.85, 1},   // 0.99 in a band, 0.93 estimated well
		{0.8, 0.35, 0.75}, // 0.95 in a band, half of the estimates are below
		{0.7, 0, 0.06},    // estimates of 0.8 are 2.5 standard errors away
		{0.5, 0, 0},
	} {
		f := NewFinder(true)
		found := 0
		for i := range pairs {
			base := story(r, 300)
			if _, is := f.Add(printOf(p, strings.Join(base, " "), 9999)); is {
				t.Fatal("a text of its own is a copy")
			}
			other := strings.Join(like(r, base, c.s), " ")
			if c.s == 1 {
				other = strings.ToUpper(other)
			}
			copied, is := f.Add(printOf(p, other, 9999))
			if is {
				found++
				if copied.Of != 2*i || copied.Exact || copied.Similarity < Similar {
					t.Fatalf("pair %d: %+v", i, copied)
				}
			}
		}
		if share := float64(found) / pairs; share < c.low || share > c.high {
			t.Errorf("similarity %g: %d of %d pairs were found, want a share from %g to %g", c.s, found, pairs, c.low, c.high)
		}
	}
}

// TestExact wants texts of equal bytes to be found, with words or without, and copies of a near copy to be copies of what stays.
func TestExact(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	p := NewPrinter()
	base := story(r, 300)
	text, close := strings.Join(base, " "), strings.Join(like(r, base, 0.95), " ")
	texts := []string{text, "???", text, close, close, "???", "other words", text}
	for near, want := range map[bool]string{
		false: "- - 0 - 3 1 - 0",
		true:  "- - 0 ~0 0 1 - 0",
	} {
		f := NewFinder(near)
		var got []string
		for _, text := range texts {
			c, is := f.Add(printOf(p, text, 9999))
			switch {
			case !is:
				got = append(got, "-")
			case c.Exact:
				got = append(got, fmt.Sprint(c.Of))
			default:
				got = append(got, fmt.Sprint("~", c.Of))
			}
		}
		if line := strings.Join(got, " "); line != want || f.Full() {
			t.Errorf("near %v: %s, want %s", near, line, want)
		}
	}
}

// TestCrowd wants thousands of texts that share a band to take little: only those that stay are compared with.
func TestCrowd(t *testing.T) {
	f := NewFinder(true)
	for i := range 5000 { // one band is equal in all, the rest in none
		print := Print{Exact: [16]byte{byte(i), byte(i >> 8)}, Words: true}
		for b := range print.Bands[1:] {
			print.Bands[b+1] = uint32(i*Bands + b)
		}
		for k := range print.Min {
			print.Min[k] = byte(mix(uint64(i*Functions + k)))
		}
		if c, is := f.Add(print); is {
			t.Fatalf("%d: %+v", i, c)
		}
	}
}

func BenchmarkPrint(b *testing.B) {
	text := []byte(strings.Join(story(rand.New(rand.NewPCG(1, 1)), 20000), " "))
	b.SetBytes(int64(len(text)))
	p := NewPrinter()
	for b.Loop() {
		p.Add(text)
		p.End()
	}
}
