package dedup

import (
	"crypto/sha256"
	"hash"
	"math"
)

// Parameters of near duplicates. Two texts are near duplicates when the estimated Jaccard similarity of their sets of shingles, runs of
// [Shingle] words, is [Similar] or more. It is estimated by MinHash (Broder 1997) with [Functions] functions, of which 8 bits each are kept
// (Li and König 2010): its standard error is sqrt(s(1-s)/128), 0.035 at 0.8. Pairs are looked for by banding (Leskovec, Rajaraman and Ullman,
// Mining of Massive Datasets, 3.4): texts are compared that agree in all [Rows] functions of one of [Bands] bands, which has probability
// 1-(1-s^8)^16 for similarity s: 0.947 at 0.8, 0.9999 at 0.9, 0.061 at 0.5.
const (
	Shingle   = 5
	Functions = 128
	Bands     = 16
	Rows      = Functions / Bands
	Similar   = 0.8
)

// Print is what is kept of a text: 16 bytes of its SHA-256, 64 of its bands and 128 of its MinHash.
type Print struct {
	Exact [16]byte
	Bands [Bands]uint32
	Min   [Functions]byte
	Words bool // there is a word, so that Bands and Min mean something
}

// factors and addends make the functions: h_i(x) = (factor_i*mix(x) + addend_i) / 2^32 rounded down (Dietzfelbinger 1996).
var factors, addends = func() (a, b [Functions]uint64) {
	for i := range a {
		a[i], b[i] = mix(uint64(2*i+1))|1, mix(uint64(2*i+2))
	}
	return a, b
}()

// Printer makes the print of a text that may come in stretches.
type Printer struct {
	sum   hash.Hash
	grams *Grams
	min   [Functions]uint32
	any   bool
}

// NewPrinter returns a printer, which can be used for one text after another.
func NewPrinter() *Printer {
	p := &Printer{sum: sha256.New()}
	p.grams = NewGrams(Shingle, p.shingle)
	p.reset()
	return p
}

func (p *Printer) reset() {
	p.sum.Reset()
	p.any = false
	for i := range p.min {
		p.min[i] = math.MaxUint32
	}
}

func (p *Printer) shingle(hash uint64) {
	p.any = true
	x := mix(hash)
	for i := range p.min {
		p.min[i] = min(p.min[i], uint32((factors[i]*x+addends[i])>>32))
	}
}

// Add takes the next stretch of the text.
func (p *Printer) Add(text []byte) {
	p.sum.Write(text)
	p.grams.Add(text)
}

// End returns the text's print.
func (p *Printer) End() Print {
	p.grams.End()
	out := Print{Exact: [16]byte(p.sum.Sum(nil)), Words: p.any}
	for b := range out.Bands {
		h := uint64(b)
		for _, m := range p.min[b*Rows : (b+1)*Rows] {
			h = mix(h*fnvPrime + uint64(m))
		}
		out.Bands[b] = uint32(h)
	}
	for i, m := range p.min {
		out.Min[i] = byte(m)
	}
	p.reset()
	return out
}

// Similarity estimates the Jaccard similarity of two texts with words. Functions that differ agree in their 8 bits by chance with probability
// 1/256, which the estimate leaves out.
func (a *Print) Similarity(b *Print) float64 {
	same := 0
	for i := range a.Min {
		if a.Min[i] == b.Min[i] {
			same++
		}
	}
	const chance = 1. / 256
	return max(0, (float64(same)/Functions-chance)/(1-chance))
}
