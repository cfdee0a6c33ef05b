// Package dedup finds texts that are copies of others, or nearly so. It works on words, the maximal runs of letters, digits and marks, in
// lower case; punctuation, layout and case do not count. In scripts that put no spaces between words every character is one.
package dedup

import (
	"unicode"
	"unicode/utf8"
)

// unspaced are scripts that put no spaces between words.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan}

// Words divides a text, which may come in stretches, into words and hands on a hash of each. Where the stretches end does not matter, as
// long as no character is divided.
type Words struct {
	hash   uint64 // of the word at hand
	inWord bool
	use    func(hash uint64)
}

// NewWords hands the hashes of words to use.
func NewWords(use func(hash uint64)) *Words { return &Words{use: use} }

// Constants of the 64-bit FNV-1a hash (Fowler, Noll and Vo).
const (
	fnvStart = 14695981039346656037
	fnvPrime = 1099511628211
)

// Add takes the next stretch of a text.
func (w *Words) Add(text []byte) {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			i++
			w.ascii(c)
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		i += n
		w.letter(r)
	}
}

func (w *Words) ascii(c byte) {
	switch {
	case 'A' <= c && c <= 'Z':
		w.add(uint64(c + 'a' - 'A'))
	case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		w.add(uint64(c))
	default:
		w.end()
	}
}

func (w *Words) letter(r rune) {
	switch {
	case unicode.In(r, unspaced...):
		w.end()
		w.add(uint64(r))
		w.end()
	case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
		w.add(uint64(unicode.ToLower(r)))
	default:
		w.end()
	}
}

func (w *Words) add(c uint64) {
	if !w.inWord {
		w.inWord, w.hash = true, fnvStart
	}
	w.hash = (w.hash ^ c) * fnvPrime
}

func (w *Words) end() {
	if w.inWord {
		w.inWord = false
		w.use(w.hash)
	}
}

// End ends the text, and its last word.
func (w *Words) End() { w.end() }

// mix spreads the bits of x over all of the result (the finaliser of MurmurHash3, Appleby 2011). It is one to one.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// Grams hands on a hash of every n words in a row. A text of fewer words has one gram, of all of them; a text of none has none.
type Grams struct {
	*Words
	last []uint64 // the last words, a ring
	seen int
	use  func(hash uint64)
}

// NewGrams hands the hashes of n-grams to use.
func NewGrams(n int, use func(hash uint64)) *Grams {
	g := &Grams{last: make([]uint64, n), use: use}
	g.Words = NewWords(g.word)
	return g
}

func (g *Grams) word(hash uint64) {
	g.last[g.seen%len(g.last)] = hash
	if g.seen++; g.seen >= len(g.last) {
		g.use(g.hash(len(g.last)))
	}
}

// hash is of the last n words, in their order.
func (g *Grams) hash(n int) uint64 {
	h := uint64(0)
	for i := g.seen - n; i < g.seen; i++ {
		h = mix(h*fnvPrime + g.last[i%len(g.last)])
	}
	return h
}

// Seen is the number of words of the text so far that have ended.
func (g *Grams) Seen() int { return g.seen }

// End ends a text; the next may follow.
func (g *Grams) End() {
	g.Words.End()
	if g.seen > 0 && g.seen < len(g.last) {
		g.use(g.hash(g.seen))
	}
	g.seen = 0
}
