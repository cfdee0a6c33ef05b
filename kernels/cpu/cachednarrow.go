package cpu

import (
	"unsafe"

	"prenorm/kernels"
)

// Keys and values in bfloat16. What comes out has the bits of the float32 call on the same numbers: for few new rows keys are widened a few
// rows at a time and values as they are added up, so that memory gives half the bytes; elsewhere a head is widened as a whole first.

// cacheOf is memory of keys or values, of which one of both is nil.
type cacheOf struct {
	wide   []float32
	narrow []uint16
}

func cacheAt(v kernels.View) cacheOf {
	if v.DType == kernels.BF16 {
		return cacheOf{narrow: v.BF16()}
	}
	return cacheOf{wide: v.F32()}
}

// set copies rows of the same type or from float32 to place at.
func (c cacheOf) set(t *tier, at int, x []float32) {
	if c.narrow != nil {
		t.narrow(c.narrow[at:at+len(x)], x)
		return
	}
	copy(c.wide[at:], x)
}

// widePad keeps rows of widened keys apart, so that they are multiplied several at a time.
const widePad = 16

// readsHalves says whether heads of a size are read in bfloat16 where they lie.
func (t *tier) readsHalves(dim int) bool { return t.weigh != nil && dim%convertStep == 0 }

// widenedHead widens rows from … to-1 of a head, ld apart, to their places in rows of dim.
func (t *tier) widenedHead(place []float32, x []uint16, ld, dim, from, to int) []float32 {
	if from < to {
		t.widenStrided(place[from*dim:], dim, x[from*ld:], ld, dim, to-from)
	}
	return place
}

// fetchHalves has rows from … to-1 of keys or values fetched. Where a row takes no whole words, those of others are.
func (f *cachedHead) fetchHalves(x []uint16, from, to int) {
	if from < to {
		f.tier.fetch((*float32)(unsafe.Pointer(&x[from*f.kvWidth])), f.kvWidth/2, (f.dim+1)/2, to-from)
	}
}

// halfScores are the raw products of n rows of q with keys from … hi-1.
func (f *cachedHead) halfScores(q []float32, n, ld, from, hi int) {
	wide := f.dim + widePad
	f.fetchHalves(f.halfKeys, from, min(from+2*fetchRows, hi))
	for j := from; j < hi; j += fetchRows {
		rows := min(fetchRows, hi-j)
		f.fetchHalves(f.halfKeys, j+2*fetchRows, min(j+3*fetchRows, hi))
		f.fetchHalves(f.halfValues, j, j+rows)
		f.tier.widenStrided(f.widened, wide, f.halfKeys[j*f.kvWidth:], f.kvWidth, f.dim, rows)
		for r := range n {
			f.tier.dots(&f.scores[r*ld+j-from], &q[r*f.width], &f.widened[0], wide, f.dim, rows, 0)
		}
	}
}

// halfSums are the values from lo … hi-1, weighted by scores that start at from, in chains as long as those of a product.
func (f *cachedHead) halfSums(y []float32, n, ld, from, lo, hi int) {
	for r := range n {
		for j := lo; j < hi; j += blockK {
			add := min(1, j-lo)
			f.tier.weigh(&y[r*f.width], &f.scores[r*ld+j-from], &f.halfValues[j*f.kvWidth], f.kvWidth, f.dim, min(blockK, hi-j), add)
		}
	}
}
