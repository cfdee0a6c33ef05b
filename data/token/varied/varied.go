// Package varied makes text that is hard on tokenizers, from a seed: scripts with and without case, marks, emoji, code, control characters, long
// runs of one character. It is for tests and for comparisons with other programs; no run reads it.
package varied

import (
	"math/rand/v2"
	"strconv"
	"unicode"
)

// maxRun is the longest run of one character.
const maxRun = 20_000

// Text returns valid UTF-8 of at least size bytes, less than maxRun characters more. The same seed gives the same bytes with every release of Go
// that has the same Unicode version (15.0 up to Go 1.26), and a longer text begins with the shorter one.
func Text(seed uint64, size int) []byte {
	w := &writer{r: rand.New(rand.NewPCG(seed, 0)), text: make([]byte, 0, size+size/8)}
	for len(w.text) < size {
		passages[w.r.IntN(len(passages))](w)
		w.pick(" ", " ", "\n", "\n\n", "", ". ", "\r\n", "  \t")
	}
	return w.text
}

type writer struct {
	r    *rand.Rand
	text []byte
}

func (w *writer) add(s string) { w.text = append(w.text, s...) }

func (w *writer) pick(from ...string) { w.add(from[w.r.IntN(len(from))]) }

// some returns a number from low to high, small ones more often.
func (w *writer) some(low, high int) int {
	return low + int(w.r.ExpFloat64()*float64(high-low)/6)%(high-low+1)
}

// from writes n characters of the ranges [lo, hi].
func (w *writer) from(n int, ranges ...[2]rune) {
	for range n {
		at := ranges[w.r.IntN(len(ranges))]
		if c := at[0] + w.r.Int32N(at[1]-at[0]+1); unicode.IsGraphic(c) {
			w.text = append(w.text, string(c)...)
		}
	}
}

// words writes words of a script with marks behind some of their letters.
func (w *writer) words(letters, marks [2]rune, share float64) {
	for range w.some(3, 60) {
		for range w.some(1, 9) {
			w.from(1, letters)
			for w.r.Float64() < share {
				w.from(1, marks)
			}
		}
		w.pick(" ", " ", " ", ", ", "\u00a0", "\u200f", " (", ") ", "-")
	}
}

// drawn makes a passage of words in one script.
func drawn(letters, marks [2]rune, share float64) func(*writer) {
	return func(w *writer) { w.words(letters, marks, share) }
}

// plain makes a passage without spaces.
func plain(ranges ...[2]rune) func(*writer) {
	return func(w *writer) {
		w.from(w.some(5, 200), ranges...)
		w.pick("。", "、", "!", "…", "", "『", "‼️")
	}
}

var passages = []func(*writer){
	english, english, english, english, code, code, emoji, controls, runs, numbers, anything, whiteSpace, cases,
	plain([2]rune{0x4E00, 0x9FA5}), plain([2]rune{0x3041, 0x30FA}, [2]rune{0x4E00, 0x5FFF}), plain([2]rune{0xAC00, 0xD7A3}),
	plain([2]rune{0x0E01, 0x0E4E}), plain([2]rune{0x20000, 0x2A6DF}),
	drawn([2]rune{0x0621, 0x064A}, [2]rune{0x064B, 0x0652}, 0.15), // Arabic with some vowels
	drawn([2]rune{0x05D0, 0x05EA}, [2]rune{0x05B0, 0x05C2}, 0.6),  // Hebrew with points
	drawn([2]rune{0x0905, 0x0939}, [2]rune{0x093E, 0x094D}, 0.5),
	drawn([2]rune{0x0410, 0x044F}, [2]rune{0x0301, 0x0301}, 0.05),
	drawn([2]rune{0x0391, 0x03C9}, [2]rune{0x0300, 0x0314}, 0.1),
	drawn([2]rune{'a', 'z'}, [2]rune{0x0300, 0x036F}, 0.2),
}

var common = []string{"the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "was", "on", "as", "with", "light", "refraction", "glass", "I",
	"we", "they", "don't", "it's", "I'LL", "we've", "they're", "she'd", "I'm", "Newton's", "QUEEN'S", "naïve", "café", "Straße", "internationalisation",
	"antidisestablishmentarianism", "Mr.", "e.g.", "HTTP", "iPhone", "e-mail", "o'clock", "rock'n'roll", "x", "y", "zebra", "Colours", "ǅungla"}

func english(w *writer) {
	for range w.some(5, 120) {
		if w.r.IntN(12) == 0 {
			w.from(w.some(2, 14), [2]rune{'a', 'z'})
		} else {
			w.pick(common...)
		}
		w.pick(" ", " ", " ", " ", " ", ", ", ". ", "; ", " — ", "\n", "?! ", "  ")
	}
}

func code(w *writer) {
	for range w.some(2, 30) {
		for range w.some(0, 8) {
			w.pick("\t", "    ", "  ")
		}
		w.pick("for (int i = 0; i < n; ++i) {", "if err != nil {", "return nil, fmt.Errorf(\"%w\", err)", "}", "});", "def __init__(self, **kwargs):",
			"x[i+1] = y >> 0x1F;", "// TODO: // ///", "#include <stdio.h>", "SELECT * FROM t WHERE a='b'", "<div class=\"a-b_c\">&amp;</div>", "\\alpha_{i}^{2}",
			"camelCaseName = snake_case_name", "https://example.org/a/b?c=d&e=%20f#g", "===", "--------", "\"\\u00e9\\n\"", "a/b/c//")
		w.pick("\n", "\n", "\n\n", "\r\n", " \n", "\n  \n")
	}
}

func emoji(w *writer) {
	for range w.some(1, 20) {
		switch w.r.IntN(5) {
		case 0:
			w.pick("👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇫🇷", "❤️", "1️⃣", "☺", "👩🏿‍🚀")
		case 1:
			w.add(" ")
		default:
			w.from(1, [2]rune{0x1F300, 0x1F64F}, [2]rune{0x1F680, 0x1F6C5}, [2]rune{0x2600, 0x27BF})
		}
	}
}

func controls(w *writer) {
	for range w.some(1, 30) {
		w.text = append(w.text, string(rune(w.r.IntN(0xA1)))...)
		w.pick("", "", "\x00", "\x7f", "\u0085", "\u2028", "\u200b", "\ufeff", "\u202e", "\ufffd", "a", "1")
	}
}

// runs writes one thing many times.
func runs(w *writer) {
	n := w.some(2, 400)
	if w.r.IntN(40) == 0 {
		n = w.some(400, maxRun/4)
	}
	unit := [...]string{"a", " ", "\n", "=", "-", "0", "字", "é", "😀", "\u0301", "ab", "A", "\t", "\u00a0", "/", "ha"}[w.r.IntN(16)]
	for range n {
		w.add(unit)
	}
}

func numbers(w *writer) {
	for range w.some(1, 30) {
		w.text = strconv.AppendUint(w.text, w.r.Uint64()>>w.r.IntN(64), 10)
		w.pick(" ", ".", ",", "-", ":", "e+", "½", "²", "٣", "Ⅷ", "０", "$", "%", "\n")
	}
}

func whiteSpace(w *writer) {
	for range w.some(1, 20) {
		w.pick(" ", "  ", "\n", "\r", "\t", "\u00a0", "\u3000", "\u2009", "\v", "\f", "x", "!", "7")
	}
}

// cases mixes letters by case, marks and apostrophes.
func cases(w *writer) {
	for range w.some(2, 40) {
		w.pick("a", "B", "c", "D", "ß", "É", "ǅ", "ʰ", "ª", "字", "\u0301", "'s", "'S", "'ll", "'LL", "'Re", "'ſ", "'", "’s", " ", "_", "ﬁ", "İ", "ı", "Ⅷ")
	}
}

// anything writes characters of all of Unicode that Unicode 15.0 has assigned.
func anything(w *writer) {
	for range w.some(2, 40) {
		if c := rune(w.r.IntN(0x32000)); unicode.IsGraphic(c) {
			w.text = append(w.text, string(c)...)
		}
	}
}
