package cpu

import "unsafe"

// goTiles are the portable tier's tiles by number of rows.
func goTiles(inRows bool) []tileFunc {
	tiles := make([]tileFunc, 5)
	for rows := 1; rows < len(tiles); rows++ {
		tiles[rows] = func(k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc, n, add int) {
			m := strided{row: lda, col: 1}
			if !inRows {
				m = strided{row: 1, col: lda}
			}
			m.x = unsafe.Slice(a, (rows-1)*m.row+(k-1)*m.col+1)
			y, z := unsafe.Slice(b, (k-1)*ldb+n), unsafe.Slice(c, (rows-1)*ldc+n)
			if rows == 4 && n == 4 {
				for j := 0; j < 4; j += 2 {
					if inRows {
						tileRows4x2(k, m.x, lda, y[j:], ldb, z[j:], ldc, add)
					} else {
						tileColumns4x2(k, m.x, lda, y[j:], ldb, z[j:], ldc, add)
					}
				}
				return
			}
			tileEdge(rows, k, m, y, ldb, z, ldc, n, add)
		}
	}
	return tiles
}

func tileEdge(rows, k int, a strided, b []float32, ldb int, c []float32, ldc, n, add int) {
	for i := range rows {
		for j := range n {
			var s float32
			for p := range k {
				s += a.x[i*a.row+p*a.col] * b[p*ldb+j]
			}
			put(c, i*ldc+j, s, add)
		}
	}
}

func put(c []float32, at int, v float32, add int) {
	if add != 0 {
		v += c[at]
	}
	c[at] = v
}

// tileRows4x2 keeps 4 x 2 elements in registers, which is what most processors have room for.
func tileRows4x2(k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc, add int) {
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
	put4x2(c, ldc, add, c00, c01, c10, c11, c20, c21, c30, c31)
}

// tileColumns4x2 is the same for A in columns.
func tileColumns4x2(k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc, add int) {
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
	put4x2(c, ldc, add, c00, c01, c10, c11, c20, c21, c30, c31)
}

func put4x2(c []float32, ldc, add int, c00, c01, c10, c11, c20, c21, c30, c31 float32) {
	put(c, 0, c00, add)
	put(c, 1, c01, add)
	put(c, ldc, c10, add)
	put(c, ldc+1, c11, add)
	put(c, 2*ldc, c20, add)
	put(c, 2*ldc+1, c21, add)
	put(c, 3*ldc, c30, add)
	put(c, 3*ldc+1, c31, add)
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
