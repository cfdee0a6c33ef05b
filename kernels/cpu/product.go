package cpu

import (
	"math"
	"runtime"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// Products are computed in one form, rows of A times rows of B with K contiguous in both (NT in BLAS terms), because dot products are what
// gonum's assembly does best: 10 to 17 GFLOP/s on a core at K of 128 to 2048, against 5 to 7 in the other forms. Operands that lie otherwise
// are transposed first, which costs a few percent.
//
// Each element is one dot product over the whole of K, in an order that depends on K only, so how a product is cut into tiles does not show.
// gonum's dot product starts at a 16-byte boundary of B's row, so B must be [aligned].

// tile is the largest product given to gonum at once, in rows and columns. From four blocks of 64 x 64 on, gonum starts goroutines.
const tile = 64

// useDots selects gonum's kernel where it is assembly.
var useDots = runtime.GOARCH == "amd64"

// productNT is C[m,n] = A[m,k] B[n,k]ᵀ, or C += with accumulate. lda, ldb and ldc are the pitches of rows.
func productNT(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, accumulate bool) {
	if m <= 0 || n <= 0 {
		return
	}
	if !useDots || k == 0 {
		productBlocks(m, n, k, a, lda, b, ldb, c, ldc, accumulate)
		return
	}
	var beta float32
	if accumulate {
		beta = 1
	}
	for i := 0; i < m; i += tile {
		for j := 0; j < n; j += tile {
			gonum.Implementation{}.Sgemm(blas.NoTrans, blas.Trans, min(tile, m-i), min(tile, n-j), k, 1, a[i*lda:], lda, b[j*ldb:], ldb, beta, c[i*ldc+j:], ldc)
		}
	}
}

// productSeen is [productNT] over the terms p of row i with sees(i, p) alone. Attention multiplies what is masked by zero, which is right
// and fast as long as everything is finite; this one serves when something is not, so that it shows in the rows that see it and only there.
func productSeen(sees func(i, p int) bool, m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, accumulate bool) {
	for i := range m {
		for j := range n {
			var s float32
			for p, v := range a[i*lda:][:k] {
				if sees(i, p) {
					s += v * b[j*ldb+p]
				}
			}
			put(c, i*ldc+j, s, accumulate)
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

// productNN is C[m,n] = A[m,k] B[k,n]. It serves where transposing B would cost as much as the product. Zeros of A skip their row of B.
func productNN(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	if m <= 0 || n <= 0 {
		return
	}
	for i := 0; i < m; i += tile {
		for j := 0; j < n; j += tile {
			gonum.Implementation{}.Sgemm(blas.NoTrans, blas.NoTrans, min(tile, m-i), min(tile, n-j), k, 1, a[i*lda:], lda, b[j:], ldb, 0, c[i*ldc+j:], ldc)
		}
	}
}

// productBlocks is [productNT] in plain Go, by blocks of 4 x 2 elements kept in registers: 4 to 5 GFLOP/s on the core above.
func productBlocks(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, accumulate bool) {
	for i := 0; i < m; i += 4 {
		for j := 0; j < n; j += 2 {
			if i+4 <= m && j+2 <= n {
				block4x2(k, a[i*lda:], lda, b[j*ldb:], ldb, c[i*ldc+j:], ldc, accumulate)
				continue
			}
			for r := i; r < min(i+4, m); r++ {
				for s := j; s < min(j+2, n); s++ {
					put(c, r*ldc+s, dot(a[r*lda:][:k], b[s*ldb:][:k]), accumulate)
				}
			}
		}
	}
}

func put(c []float32, at int, v float32, accumulate bool) {
	if accumulate {
		v += c[at]
	}
	c[at] = v
}

func dot(x, y []float32) float32 {
	var s float32
	y = y[:len(x)]
	for p, v := range x {
		s += v * y[p]
	}
	return s
}

func block4x2(k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, accumulate bool) {
	a0, a1, a2, a3 := a[:k], a[lda:][:k], a[2*lda:][:k], a[3*lda:][:k]
	b0, b1 := b[:k], b[ldb:][:k]
	var c00, c01, c10, c11, c20, c21, c30, c31 float32
	for p := range k {
		y0, y1 := b0[p], b1[p]
		x := a0[p]
		c00 += x * y0
		c01 += x * y1
		x = a1[p]
		c10 += x * y0
		c11 += x * y1
		x = a2[p]
		c20 += x * y0
		c21 += x * y1
		x = a3[p]
		c30 += x * y0
		c31 += x * y1
	}
	put(c, 0, c00, accumulate)
	put(c, 1, c01, accumulate)
	put(c, ldc, c10, accumulate)
	put(c, ldc+1, c11, accumulate)
	put(c, 2*ldc, c20, accumulate)
	put(c, 2*ldc+1, c21, accumulate)
	put(c, 3*ldc, c30, accumulate)
	put(c, 3*ldc+1, c31, accumulate)
}

// transpose is dst[j,i] = src[i,j] for rows x cols elements of src. Eight rows are read at once so that dst is written in runs.
func transpose(dst []float32, ldd int, src []float32, lds, rows, cols int) {
	i := 0
	for ; i+8 <= rows; i += 8 {
		s := src[i*lds:]
		r0, r1, r2, r3 := s[:cols], s[lds:][:cols], s[2*lds:][:cols], s[3*lds:][:cols]
		r4, r5, r6, r7 := s[4*lds:][:cols], s[5*lds:][:cols], s[6*lds:][:cols], s[7*lds:][:cols]
		for j := range cols {
			d := (*[8]float32)(dst[j*ldd+i:])
			d[0], d[1], d[2], d[3] = r0[j], r1[j], r2[j], r3[j]
			d[4], d[5], d[6], d[7] = r4[j], r5[j], r6[j], r7[j]
		}
	}
	for ; i < rows; i++ {
		for j, v := range src[i*lds:][:cols] {
			dst[j*ldd+i] = v
		}
	}
}

// copyRows is dst[i,j] = src[i,j].
func copyRows(dst []float32, ldd int, src []float32, lds, rows, cols int) {
	for i := range rows {
		copy(dst[i*ldd:][:cols], src[i*lds:])
	}
}
