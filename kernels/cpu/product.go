package cpu

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
	first        int  // the panel that x begins with
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

// packTurned fills panels from … to-1 of a packed factor of n x k elements from rows of K, ld apart.
func (t *tier) packTurned(f factor, src []float32, ld, n, k, from, to int) {
	for p := from; p < to; p++ {
		at := p * f.width
		t.packTurn(f.x[p*f.panel:], f.width, src[at*ld:], ld, min(f.width, n-at), k)
	}
}

// packSteps are the steps of K that packCopied takes at once, so that each row of the source is read for all panels while it is near.
const packSteps = 16

// packCopied fills steps from … to-1 of a packed factor of n x k elements from rows of n, ld apart.
func (t *tier) packCopied(f factor, src []float32, ld, n, from, to int) {
	for ; from < to; from += packSteps {
		for at := 0; at < n; at += f.width {
			t.packCopy(f.x[at/f.width*f.panel+from*f.width:], f.width, src[from*ld+at:], ld, min(f.width, n-at), min(packSteps, to-from))
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

// epilogue is what is added to a finished product C[m,n] where its last block of K is: C + bias + residual, in this order.
type epilogue struct {
	bias     []float32 // [n], added to every row; nil = none
	residual []float32 // [m,n]; nil = none
	partial  []float32 // [m,n], where sums are until they are finished, because the residual lies in C; nil = in C itself
	n        int
}

// operands are the bias from column j on and the residual from element i, j on.
func (e *epilogue) operands(i, j int) (bias, residual *float32) {
	if e.bias != nil {
		bias = &e.bias[j]
	}
	if e.residual != nil {
		residual = &e.residual[i*e.n+j]
	}
	return bias, residual
}

// finish does what tiles do to rows i0 … i1-1 and columns j0 … j1-1 of C, on sums that something else has put where [epilogue.sums] says.
func (e *epilogue) finish(t *tier, c []float32, i0, i1, j0, j1 int) {
	if e == nil {
		return
	}
	for i := i0; i < i1; i++ {
		from, to := i*e.n+j0, i*e.n+j1
		sum := e.sums(c)[from:to]
		if e.bias != nil {
			t.add(sum, sum, e.bias[j0:j1])
		}
		if e.residual != nil {
			t.add(c[from:to], sum, e.residual[from:to])
		}
	}
}

// sums is where the sums of C are until they are finished.
func (e *epilogue) sums(c []float32) []float32 {
	if e == nil || e.partial == nil {
		return c
	}
	return e.partial
}

// product is C[m,n] = A B, or C += with accumulate, over k terms. ldc is the distance between rows of C.
func (t *tier) product(m, n, k int, a, b factor, c []float32, ldc int, accumulate bool) {
	t.productAt(0, m, 0, n, k, a, b, c, ldc, accumulate, nil)
}

// productAt is the part of a product in rows i0 … i1-1 and columns j0 … j1-1, which start panels, with an epilogue unless that is nil. c is the
// whole C; with an epilogue its rows are n apart.
func (t *tier) productAt(i0, i1, j0, j1, k int, a, b factor, c []float32, ldc int, accumulate bool, e *epilogue) {
	sums := e.sums(c)
	if k == 0 {
		for i := i0; i < i1 && !accumulate; i++ {
			clear(sums[i*ldc+j0 : i*ldc+j1])
		}
		e.finish(t, c, i0, i1, j0, j1)
	}
	for p := 0; p*blockK < k; p++ {
		t.productBlock(i0, i1, j0, j1, k, p, a, b, c, ldc, accumulate, e, nil)
	}
}

// productBlock is block p of K of productAt. Between tiles it asks for memory ahead, unless that is nil.
func (t *tier) productBlock(i0, i1, j0, j1, k, p int, a, b factor, c []float32, ldc int, accumulate bool, e *epilogue, next *ahead) {
	sums, to := e.sums(c), e.sums(c)
	depth, add, last := min(blockK, k-p*blockK), accumulate || p > 0, e != nil && (p+1)*blockK >= k
	if last {
		to = c
	}
	tiles := t.inColumns
	if a.inRows {
		tiles = t.inRows
	}
	for i := i0; i < i1; i += t.rows { // A's panel stays in the first cache while B's, of a task, come from the second
		x, tile := &a.x[(i/t.rows-a.first)*a.panel+p*a.block], tiles[min(t.rows, i1-i)]
		for j := j0; j < j1; j += t.cols {
			var from, bias, residual *float32
			ldr := 0
			if add {
				from = &sums[i*ldc+j]
			}
			if last {
				bias, residual = e.operands(i, j)
				ldr = e.n
			}
			soon, ldn, fetches := next.part()
			tile(depth, x, a.ld, &b.x[(j/t.cols-b.first)*b.panel+p*b.block], b.ld, &to[i*ldc+j], ldc, min(t.cols, j1-j), from, bias, residual, ldr, soon, ldn, fetches)
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
