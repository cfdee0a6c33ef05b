package cpu

import "math"

// Products are computed in tiles whose elements stay in registers. K is cut into blocks of blockK terms: each element is one chain of fused
// multiply-adds over a block, from 0, and the chains are added to C in order. That is all that decides the rounding: neither the tile's
// size, nor where and how the operands lie, nor how the product is cut into tasks.

// blockK is the number of terms of a chain: a panel of B of that depth stays close to the processor while tiles use it.
const blockK = 384

// panelPad are the floats between packed panels: packing may write some past a panel's end, and panels of a round size would all start in
// the same sets of a cache.
const panelPad = 16

// factor is an operand of a product as tiles read it: A by panels of rows, B by panels of columns, each a tile wide.
type factor struct {
	x            []float32
	width        int  // of a panel
	ld           int  // distance between rows, or between steps of K when the factor lies in columns
	panel, block int  // from one panel to the next, from one block of K to the next
	inRows       bool // K is contiguous; only A may be
}

// rowsA is A[m,k] where it lies, rows ld apart.
func (t *tier) rowsA(x []float32, ld int) factor {
	return factor{x: x, width: t.rows, ld: ld, panel: t.rows * ld, block: blockK, inRows: true}
}

// columnsA is A where it lies transposed, [k,m] with rows ld apart.
func (t *tier) columnsA(x []float32, ld int) factor {
	return factor{x: x, width: t.rows, ld: ld, panel: t.rows, block: blockK * ld}
}

// columnsB is B[k,n] where it lies. The tier must be able to read it there, see [tier.readsB].
func (t *tier) columnsB(x []float32, ld int) factor {
	return factor{x: x, width: t.cols, ld: ld, panel: t.cols, block: blockK * ld}
}

// readsB says whether tiles can read a B[k,n] where it lies.
func (t *tier) readsB(n int) bool { return t.masked || n%t.cols == 0 }

// packed is a factor in panels of width w one after the other.
func packed(x []float32, w, k int) factor {
	return factor{x: x, width: w, ld: w, panel: k*w + panelPad, block: blockK * w}
}

// packedSize is the floats of [packed] for n rows of A or columns of B.
func packedSize(w, n, k int) int { return blocks(n, w) * (k*w + panelPad) }

// pack fills panels from … to-1 of a packed factor of n x k elements that lie in src, by fill.
func (f factor) pack(fill packFunc, src []float32, ld int, turned bool, n, k, from, to int) {
	for p := from; p < to; p++ {
		at := p * f.ld
		if turned {
			fill(f.x[p*f.panel:], f.ld, src[at*ld:], ld, min(f.ld, n-at), k)
		} else {
			fill(f.x[p*f.panel:], f.ld, src[at:], ld, min(f.ld, n-at), k)
		}
	}
}

// after is the factor from a step of K on.
func (f factor) after(k int) factor {
	if !f.inRows {
		k *= f.ld
	}
	f.x = f.x[min(k, len(f.x)):]
	return f
}

// past is the factor from row or column i on, the first of a panel.
func (f factor) past(i int) factor {
	f.x = f.x[i/f.width*f.panel:]
	return f
}

// product is C[m,n] = A B, or C += with accumulate, over k terms. ldc is the distance between rows of C.
func (t *tier) product(m, n, k int, a, b factor, c []float32, ldc int, accumulate bool) {
	t.productAt(0, m, 0, n, k, a, b, c, ldc, accumulate)
}

// productAt is the part of a product in rows i0 … i1-1 and columns j0 … j1-1; i0 and j0 are the first of a panel. c is the whole C.
func (t *tier) productAt(i0, i1, j0, j1, k int, a, b factor, c []float32, ldc int, accumulate bool) {
	if k == 0 && !accumulate {
		for i := i0; i < i1; i++ {
			clear(c[i*ldc+j0 : i*ldc+j1])
		}
	}
	tiles := t.inColumns
	if a.inRows {
		tiles = t.inRows
	}
	for p := 0; p*blockK < k; p++ {
		depth, add := min(blockK, k-p*blockK), 0
		if accumulate || p > 0 {
			add = 1
		}
		for j := j0; j < j1; j += t.cols {
			y, n := &b.x[j/t.cols*b.panel+p*b.block], min(t.cols, j1-j)
			for i := i0; i < i1; i += t.rows {
				tiles[min(t.rows, i1-i)](depth, &a.x[i/t.rows*a.panel+p*a.block], a.ld, y, b.ld, &c[i*ldc+j], ldc, n, add)
			}
		}
	}
}

// strided is a matrix by its element distances.
type strided struct {
	x        []float32
	row, col int
}

// productSeen is a product over the terms p of row i with sees(i, p) alone, A being [m,k] and B [k,n]. Attention multiplies what is masked by
// zero, which is right and fast as long as everything is finite; this one serves when something is not, so that it shows in the rows that
// see it and only there.
func productSeen(sees func(i, p int) bool, m, n, k int, a, b strided, c []float32, ldc int, accumulate bool) {
	for i := range m {
		for j := range n {
			var s float32
			for p := range k {
				if sees(i, p) {
					s += a.x[i*a.row+p*a.col] * b.x[p*b.row+j*b.col]
				}
			}
			if accumulate {
				s += c[i*ldc+j]
			}
			c[i*ldc+j] = s
		}
	}
}

// allFinite says whether rows of the given length hold neither NaN nor infinity.
func allFinite(x []float32, ld, rows, cols int) bool {
	const exponent = 0x7f800000
	var carry uint32 // its top bit is set by an exponent of ones
	for i := range rows {
		for _, v := range x[i*ld:][:cols] {
			carry |= math.Float32bits(v)&exponent + 1<<23
		}
	}
	return carry>>31 == 0
}
