package dedup

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// unlike is a print of a text of its own: it agrees with the zero print but for so many functions from one on, and in all bands that have none of
// them.
func unlike(number byte, from, n int) Print {
	p := Print{Exact: [16]byte{number}, Words: true}
	for i := from; i < from+n; i++ {
		p.Min[i] = number
		p.Bands[i/Rows] = uint32(number)
	}
	return p
}

// TestMost has more texts than are compared with: the first ones that stay are, what comes behind them is no copy of each other, and what memory
// holds does not grow.
func TestMost(t *testing.T) {
	texts := make([]Print, 6)
	for i := range texts {
		texts[i] = unlike(byte(i+1), 0, Functions)
	}
	for _, near := range []bool{false, true} {
		f := NewFinder(near)
		if f.most != Most {
			t.Fatalf("%d texts", f.most)
		}
		f.most = 3
		for i, c := range []struct {
			text int
			of   int // -1 for no copy
			full bool
		}{{0, -1, false}, {1, -1, false}, {0, 0, false}, {2, -1, true}, {3, -1, true}, {3, -1, true}, {4, -1, true}, {1, 1, true}, {2, 3, true}} {
			got, is := f.Add(texts[c.text])
			if is != (c.of >= 0) || is && got.Of != c.of || f.Full() != c.full {
				t.Errorf("near %v, text %d: %+v, %v, full %v; want %+v", near, i, got, is, f.Full(), c)
			}
		}
		if len(f.stays) != 3 || len(f.first) != 3 {
			t.Errorf("near %v: %d stay, %d are known", near, len(f.stays), len(f.first))
		}
	}
}

// TestCopyOfNearCopy wants the same bytes as those of a near copy to be told of by their similarity to the text that stays.
func TestCopyOfNearCopy(t *testing.T) {
	f := NewFinder(true)
	f.Add(unlike(1, 0, 0))
	close := unlike(2, 0, 16)
	first, is := f.Add(close)
	again, also := f.Add(close)
	if !is || !also || first.Exact || !again.Exact || first.Similarity >= 1 || again.Similarity != first.Similarity || again.Of != 0 {
		t.Errorf("%+v, %+v", first, again)
	}
	if same, _ := f.Add(unlike(1, 0, 0)); same != (Copy{0, 1, true}) {
		t.Errorf("%+v", same)
	}
}

// TestNearest wants the most similar text, and of equally similar ones the first, whichever band finds them.
func TestNearest(t *testing.T) {
	const n = 16 // functions, two bands: 16 of 128 leave 0.87, 32 leave 0.75
	for name, c := range map[string]struct {
		stay []Print
		want int
	}{
		"found in one band, the last first": {[]Print{unlike(1, 0, n), unlike(2, n, n)}, 0},
		"the second is found first":         {[]Print{unlike(1, 0, n), unlike(2, Functions-n, n)}, 0},
		"the first is found first":          {[]Print{unlike(1, Functions-n, n), unlike(2, 0, n)}, 0},
		"the second is closer":              {[]Print{unlike(1, 0, n), unlike(2, n, n-1)}, 1},
		"the third is closer":               {[]Print{unlike(1, 0, n), unlike(2, n, n), unlike(3, 2*n, n-5)}, 2},
	} {
		f := NewFinder(true)
		for i, p := range c.stay {
			if c, is := f.Add(p); is {
				t.Fatalf("%s: %d is a copy: %+v", name, i, c)
			}
		}
		if got, is := f.Add(unlike(9, 0, 0)); !is || got.Of != c.want || got.Exact {
			t.Errorf("%s: %+v, %v, want %d", name, got, is, c.want)
		}
	}
}

// TestLastInBand wants no more than the last so many texts of a band to be compared with.
func TestLastInBand(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	for behind, want := range map[int]bool{mostInBand - 1: true, mostInBand: false} {
		f := NewFinder(true)
		one := unlike(1, 0, 0)
		for b := range one.Bands[1:] {
			one.Bands[b+1] = r.Uint32()
		}
		f.Add(one)
		for i := range behind { // the same first band, and nothing else
			p := Print{Exact: [16]byte{2, byte(i)}, Words: true}
			for b := range p.Bands[1:] {
				p.Bands[b+1] = r.Uint32()
			}
			for k := range p.Min {
				p.Min[k] = byte(1 + r.IntN(255))
			}
			f.Add(p)
		}
		close := unlike(3, 0, 0)
		for b := range close.Bands[1:] {
			close.Bands[b+1] = r.Uint32()
		}
		if _, is := f.Add(close); is != want {
			t.Errorf("%d texts behind it: found %v", behind, is)
		}
	}
}

// TestSimilarity wants functions that agree by chance to be left out.
func TestSimilarity(t *testing.T) {
	for differ, want := range map[int]float64{0: 1, Functions / 2: (0.5 - 1./256) / (255. / 256), Functions - 1: (1./128 - 1./256) / (255. / 256), Functions: 0} {
		a, b := unlike(1, 0, 0), unlike(2, 0, differ)
		if got := a.Similarity(&b); math.Abs(got-want) > 1e-12 || got != b.Similarity(&a) {
			t.Errorf("%d of %d functions differ: %g, want %g", differ, Functions, got, want)
		}
	}
}

// TestWithoutWords wants texts without words to be no near copies of anything.
func TestWithoutWords(t *testing.T) {
	p, f := NewPrinter(), NewFinder(true)
	for i, text := range []string{"...", "!!!", strings.Repeat("?", 50), "a b c d e f", "..."} {
		if c, is := f.Add(printOf(p, text, 9)); is != (i == 4) || is && fmt.Sprint(c) != "{0 1 true}" {
			t.Errorf("%q: %+v, %v", text, c, is)
		}
	}
}
