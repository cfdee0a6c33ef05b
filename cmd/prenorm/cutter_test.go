package main

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// cutting gives the text in pieces, by their lengths, and returns what is shown.
func cutting(stops []string, text string, pieces func(left int) int) (shown string, stop bool) {
	c := newCutter(stops)
	for len(text) > 0 && !stop {
		n := pieces(len(text))
		var ready []byte
		ready, stop = c.write([]byte(text[:n]))
		shown += string(ready)
		text = text[n:]
	}
	if !stop {
		shown += string(c.rest())
	}
	return shown, stop
}

func TestCutter(t *testing.T) {
	for _, c := range []struct {
		stops []string
		text  string
		shown string
		stop  bool
	}{
		{nil, "all of it", "all of it", false},
		{[]string{"END"}, "a ENEND b", "a EN", true},
		{[]string{"END"}, "a EN", "a EN", false},
		{[]string{"aab"}, "aaab", "a", true},
		{[]string{"b", "abc"}, "xabc", "xa", true},
		{[]string{"c", "abc"}, "xabc", "x", true},
		{[]string{"é"}, "caf\u00e9!", "caf", true},
		{[]string{"\n\n"}, "a\nb\n\nc", "a\nb", true},
		{[]string{"abab", "bb"}, "ababb", "", true},
		{[]string{"x"}, "x", "", true},
	} {
		for _, pieces := range []func(int) int{func(n int) int { return n }, func(int) int { return 1 }, func(n int) int { return 1 + rand.IntN(n) }} {
			shown, stop := cutting(c.stops, c.text, pieces)
			if shown != c.shown || stop != c.stop {
				t.Errorf("%q in %q: %q %v, want %q %v", c.stops, c.text, shown, stop, c.shown, c.stop)
			}
		}
	}
}

// TestCutterAgainstSearch cuts random texts where a search over the whole text finds the first end of a stop text.
func TestCutterAgainstSearch(t *testing.T) {
	word := func(r *rand.Rand, longest int) string {
		var b strings.Builder
		for range 1 + r.IntN(longest) {
			b.WriteByte("ab"[r.IntN(2)])
		}
		return b.String()
	}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		text, stops := word(r, 12), []string{word(r, 4), word(r, 4)}
		want, wantStop := text, false
		for end := 1; end <= len(text) && !wantStop; end++ {
			for _, s := range stops {
				if strings.HasSuffix(text[:end], s) && (!wantStop || end-len(s) < len(want)) {
					want, wantStop = text[:end-len(s)], true
				}
			}
		}
		shown, stop := cutting(stops, text, func(n int) int { return 1 + r.IntN(n) })
		if shown != want || stop != wantStop {
			t.Fatalf("%q in %q: %q %v, want %q %v", stops, text, shown, stop, want, wantStop)
		}
	}
}
