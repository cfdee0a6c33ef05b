package cpu

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"prenorm/kernels"
)

// guarded is memory for n floats between words that must stay as they are.
func guarded(n int) (all, x []float32) {
	all = make([]float32, n+128)
	for i := range all {
		all[i] = math.Float32frombits(0xa5a5a5a5)
	}
	return all, all[64 : 64+n : 64+n]
}

func unharmed(t *testing.T, name string, all []float32) {
	t.Helper()
	for i, v := range all {
		if (i < 64 || i >= len(all)-64) && math.Float32bits(v) != 0xa5a5a5a5 {
			t.Fatalf("%s: wrote word %d of %d, outside the output", name, i-64, len(all)-128)
		}
	}
}

// TestTiles holds every tile function of every tier against sums in float64: every number of rows and columns, both forms of A, with
// everything that can be added and without, at depths around the unrolled loop. What lies between rows of C and around it must not change.
func TestTiles(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, level := range tiers() {
		for form, tiles := range [][]tileFunc{level.inRows, level.inColumns} {
			for rows := 1; rows <= level.rows; rows++ {
				for n := 1; n <= level.cols; n++ {
					for _, k := range []int{1, 3, 4, 9} {
						for added := range 8 {
							testTile(t, r, level, tiles[rows], form == 0, rows, n, k, added)
						}
					}
				}
			}
		}
	}
}

func testTile(t *testing.T, r *rand.Rand, level *tier, tile tileFunc, inRows bool, rows, n, k, added int) {
	t.Helper()
	name := fmt.Sprintf("%s, A in rows %v, %d x %d x %d, added %03b", level.name, inRows, rows, n, k, added)
	a := strided{row: k + 2, col: 1}
	lda := a.row
	if !inRows {
		a = strided{row: 1, col: rows + 3}
		lda = a.col
	}
	wide := level.cols
	if level.masked {
		wide = n
	}
	ldb, ldc := wide+1, n+3
	a.x = floats(r, (rows-1)*a.row+(k-1)*a.col+1).F32()
	b := floats(r, (k-1)*ldb+wide).F32()
	all, c := guarded((rows-1)*ldc + n)
	for i := range c {
		c[i] = float32(r.NormFloat64())
	}
	before := append([]float32(nil), c...)
	ldr := n + 1
	addends := [][]float32{c, floats(r, n).F32(), floats(r, (rows-1)*ldr+n).F32()}
	var pointers [3]*float32
	for i, x := range addends {
		if added>>i&1 == 1 {
			pointers[i] = &x[0]
		}
	}
	tile(k, &a.x[0], lda, &b[0], ldb, &c[0], ldc, n, pointers[0], pointers[1], pointers[2], ldr, nil, 0, 0)
	unharmed(t, name, all)
	addends[0] = before
	for at := range c {
		i, j := at/ldc, at%ldc
		want := float64(before[at])
		if j < n {
			want = 0
			for which, at := range []int{at, j, i*ldr + j} {
				want += float64(added>>which&1) * float64(addends[which][at])
			}
			for p := range k {
				want += float64(a.x[i*a.row+p*a.col]) * float64(b[p*ldb+j])
			}
		}
		if !(math.Abs(float64(c[at])-want) <= 1e-6*math.Sqrt(float64(k+1))*3) || j >= n && c[at] != before[at] {
			t.Fatalf("%s: element %d, %d is %g, want %g", name, i, j, c[at], want)
		}
	}
}

// TestPacking: every width of panel, number of rows and a range of depths.
func TestPacking(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, level := range tiers() {
		for _, w := range []int{level.rows, level.cols} {
			for n := 1; n <= w; n++ {
				for _, k := range []int{1, 7, 8, 9, 16, 21} {
					turned, plain := floats(r, (n-1)*(k+2)+k).F32(), floats(r, (k-1)*(n+1)+n).F32()
					for form, fill := range []packFunc{level.packTurn, level.packCopy} {
						all, dst := guarded(k*w + panelPad)
						src, row, col := turned, k+2, 1
						if form == 1 {
							src, row, col = plain, 1, n+1
						}
						fill(dst, w, src, max(row, col), n, k)
						name := fmt.Sprintf("%s: width %d, %d x %d, form %d", level.name, w, n, k, form)
						unharmed(t, name, all)
						for i, v := range dst[k*w:] {
							if form == 1 && math.Float32bits(v) != 0xa5a5a5a5 { // the next steps, which another task may have packed
								t.Fatalf("%s: float %d past the last step is written", name, i)
							}
						}
						for p := range k {
							for i := range n {
								if dst[p*w+i] != src[i*row+p*col] {
									t.Fatalf("%s: element %d, %d is wrong", name, i, p)
								}
							}
						}
					}
				}
			}
		}
	}
}

// TestDots: sums over every length of rest, every number of rows of a group.
func TestDots(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, level := range tiers() {
		for _, k := range []int{0, 1, 5, 15, 16, 17, 31, 100} {
			for n := 1; n < 20; n++ {
				x, w := floats(r, k+1).F32(), floats(r, n*(k+3)).F32()
				all, y := guarded(n)
				for j := range y {
					y[j] = float32(j)
				}
				level.dots(&y[0], &x[0], &w[0], k+3, k, n, n%2)
				unharmed(t, level.name, all)
				for j, v := range y {
					want := float64(j * (n % 2))
					for p := range k {
						want += float64(x[p]) * float64(w[j*(k+3)+p])
					}
					if !(math.Abs(float64(v)-want) <= 1e-5) {
						t.Fatalf("%s: %d rows of %d: sum %d is %g, want %g", level.name, n, k, j, v, want)
					}
				}
			}
		}
	}
}

// TestProductBits multiplies random shapes in every form: vector tiers and numbers of workers must agree in every bit.
func TestProductBits(t *testing.T) {
	if len(vectorTiers()) == 0 {
		t.Skip("this machine has no vector tier")
	}
	var backends []*Backend
	for _, level := range vectorTiers() {
		for workers := 1; workers <= 3; workers++ {
			b := newBackend(workers, level)
			defer func() { _ = b.Close() }()
			backends = append(backends, b)
		}
	}
	r := rand.New(rand.NewPCG(9, 10))
	noise := random(r, 1<<20)
	piece := func(n int) []float32 { return noise[r.IntN(len(noise)-n):][:n] }
	for range 1500 {
		c := kernels.MatMul{TransA: r.IntN(2) == 0, TransB: r.IntN(2) == 0, Accumulate: r.IntN(2) == 0}
		size := func(limit int) int { return int(math.Exp(r.Float64()*math.Log(float64(limit)))) + r.IntN(2) }
		m, n, k := size(200), size(400), size(900)
		if r.IntN(8) == 0 {
			k = 256 * (1 + r.IntN(3)) // rows that are packed
		}
		if r.IntN(12) == 0 { // gradients of weights: stripes of an A that lies by columns
			c.TransA, m, n, k = true, 200+r.IntN(200), 1+r.IntN(150), 900+r.IntN(1200)
		}
		x, w, before := piece(m*k), piece(n*k), piece(m*n)
		a := kernels.Args{In: []kernels.View{kernels.HostView(x, m, k), kernels.HostView(w, k, n)}}
		if c.TransA {
			a.In[0].Shape = []int{k, m}
		}
		if c.TransB {
			a.In[1].Shape = []int{n, k}
		}
		var want []byte
		for _, b := range backends {
			all, y := guarded(m * n)
			copy(y, before)
			a.Out = []kernels.View{kernels.HostView(y, m, n)}
			must(t, b, c, a)
			got := a.Out[0].Host
			name := fmt.Sprintf("%+v %d x %d x %d, %s with %d workers", c, m, n, k, b.tier.name, len(b.pool.helpers)+1)
			unharmed(t, name, all)
			if want == nil {
				want = got
				checkElements(t, r, name, c, a, before)
			} else if !bytes.Equal(got, want) {
				t.Fatalf("%s: not the bits of %s with 1 worker", name, backends[0].tier.name)
			}
		}
	}
}

// checkElements holds a few elements of a product, those of the edges among them, against sums in float64.
func checkElements(t *testing.T, r *rand.Rand, name string, c kernels.MatMul, a kernels.Args, before []float32) {
	t.Helper()
	m, n, k := c.Dims(a.In)
	x, w, y := a.In[0].F32(), a.In[1].F32(), a.Out[0].F32()
	for e := range 12 {
		if m*n == 0 {
			return
		}
		i, j := r.IntN(m), r.IntN(n)
		if e%3 == 0 {
			i, j = m-1-e/3%m, n-1
		}
		sum := 0.0
		if c.Accumulate {
			sum = float64(before[i*n+j])
		}
		for p := range k {
			u, v := i*k+p, p*n+j
			if c.TransA {
				u = p*m + i
			}
			if c.TransB {
				v = j*k + p
			}
			sum += float64(x[u]) * float64(w[v])
		}
		if math.Abs(float64(y[i*n+j])-sum) > 1e-5*math.Sqrt(float64(k+1))+1e-6*math.Abs(sum) {
			t.Fatalf("%s: element %d, %d is %g, want %g", name, i, j, y[i*n+j], sum)
		}
	}
}

// random is fast noise in [-1, 1).
func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(int32(r.Uint32())) * 0x1p-31
	}
	return x
}
