package cpu

import "unsafe"

// goTiles are the portable tier's tiles by number of rows.
func goTiles(inRows bool) []tileFunc {
	tiles := make([]tileFunc, 5)
	for rows := 1; rows < len(tiles); rows++ {
		tiles[rows] = func(k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc, n int, from, bias, residual *float32, ldr int, _ *float32, _, _ int) {
			m := strided{row: lda, col: 1}
			if !inRows {
				m = strided{row: 1, col: lda}
			}
			m.x = unsafe.Slice(a, (rows-1)*m.row+(k-1)*m.col+1)
			y := unsafe.Slice(b, (k-1)*ldb+n)
			var sums [16]float32
			switch {
			case rows < 4 || n < 4:
				tileEdge(rows, k, m, y, ldb, sums[:], n)
			case inRows:
				tileRows4x2(k, m.x, lda, y, ldb, sums[:])
				tileRows4x2(k, m.x, lda, y[2:], ldb, sums[2:])
			default:
				tileColumns4x2(k, m.x, lda, y, ldb, sums[:])
				tileColumns4x2(k, m.x, lda, y[2:], ldb, sums[2:])
			}
			addMatrix(&sums, from, ldc, rows, n)
			addMatrix(&sums, bias, 0, rows, n)
			addMatrix(&sums, residual, ldr, rows, n)
			z := unsafe.Slice(c, (rows-1)*ldc+n)
			for i := range rows {
				copy(z[i*ldc:][:n], sums[4*i:])
			}
		}
	}
	return tiles
}

// addMatrix adds x, whose rows are ld apart, to sums, unless it is nil.
func addMatrix(sums *[16]float32, x *float32, ld, rows, n int) {
	if x == nil {
		return
	}
	y := unsafe.Slice(x, (rows-1)*ld+n)
	for i := range rows {
		for j, v := range y[i*ld:][:n] {
			sums[4*i+j] += v
		}
	}
}

func tileEdge(rows, k int, a strided, b []float32, ldb int, c []float32, n int) {
	for i := range rows {
		for j := range n {
			var s float32
			for p := range k {
				s += a.x[i*a.row+p*a.col] * b[p*ldb+j]
			}
			c[4*i+j] = s
		}
	}
}

// tileRows4x2 keeps 4 x 2 elements in registers, which is what most processors have room for. Rows of c are 4 apart.
func tileRows4x2(k int, a []float32, lda int, b []float32, ldb int, c []float32) {
	a0, a1, a2, a3 := a[:k], a[lda:][:k], a[2*lda:][:k], a[3*lda:][:k]
	var c00, c01, c10, c11, c20, c21, c30, c31 float32
	at := 0
	for p, x := range a0 {
		y := b[at : at+2 : at+2]
		y0, y1 := y[0], y[1]
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
		at += ldb
	}
	put4x2(c, c00, c01, c10, c11, c20, c21, c30, c31)
}

// tileColumns4x2 is the same for A in columns.
func tileColumns4x2(k int, a []float32, lda int, b []float32, ldb int, c []float32) {
	var c00, c01, c10, c11, c20, c21, c30, c31 float32
	at, bt := 0, 0
	for range k {
		x, y := a[at:at+4:at+4], b[bt:bt+2:bt+2]
		x0, x1, x2, x3, y0, y1 := x[0], x[1], x[2], x[3], y[0], y[1]
		c00 += x0 * y0
		c01 += x0 * y1
		c10 += x1 * y0
		c11 += x1 * y1
		c20 += x2 * y0
		c21 += x2 * y1
		c30 += x3 * y0
		c31 += x3 * y1
		at += lda
		bt += ldb
	}
	put4x2(c, c00, c01, c10, c11, c20, c21, c30, c31)
}

// multiplyAddsGo multiplies what stays in the first cache.
func multiplyAddsGo(n int) {
	const depth = 64
	var a, b [4 * depth]float32
	var c [16]float32
	for ; n > 0; n -= depth {
		k := min(n, depth)
		tileRows4x2(k, a[:], depth, b[:], 4, c[:])
		tileRows4x2(k, a[:], depth, b[2:], 4, c[2:])
	}
}

func put4x2(c []float32, c00, c01, c10, c11, c20, c21, c30, c31 float32) {
	c[0], c[1] = c00, c01
	c[4], c[5] = c10, c11
	c[8], c[9] = c20, c21
	c[12], c[13] = c30, c31
}

func packTurnGo(dst []float32, w int, src []float32, ld, n, k int) {
	for i := range n {
		for p, v := range src[i*ld:][:k] {
			dst[p*w+i] = v
		}
	}
}

func packCopyGo(dst []float32, w int, src []float32, ld, n, k int) {
	for p := range k {
		copy(dst[p*w:][:n], src[p*ld:])
	}
}

func dotsGo(y, x, w *float32, ldw, k, n, add int) {
	if n == 0 {
		return
	}
	out, a, rows := unsafe.Slice(y, n), unsafe.Slice(x, k), unsafe.Slice(w, (n-1)*ldw+k)
	for j := range out {
		put(out, j, dot(a, rows[j*ldw:][:k]), add)
	}
}

func put(c []float32, at int, v float32, add int) {
	if add != 0 {
		v += c[at]
	}
	c[at] = v
}

// dot adds in four interleaved parts.
func dot(x, y []float32) float32 {
	var s0, s1, s2, s3 float32
	y = y[:len(x)]
	for len(x) >= 4 {
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		x, y = x[4:], y[4:]
	}
	for p, v := range x {
		s0 += v * y[p]
	}
	return (s0 + s1) + (s2 + s3)
}
