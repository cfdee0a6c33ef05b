package cpu

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

// TestProductForms holds both kernels of C = A Bᵀ, and C = A B, against sums in float64, at edges of blocks and with pitches.
func TestProductForms(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	defer func(was bool) { useDots = was }(useDots)
	for _, dots := range []bool{true, false} {
		useDots = dots
		for _, s := range [][3]int{{1, 1, 1}, {1, 5, 3}, {3, 1, 0}, {4, 2, 7}, {5, 3, 17}, {65, 130, 33}, {6, 67, 100}} {
			m, n, k := s[0], s[1], s[2]
			lda, ldb, ldc := k+3, pitch(k), n+2
			a, b := floats(r, m*lda+1).F32(), floats(r, n*ldb+1).F32()
			for _, accumulate := range []bool{false, true} {
				c := floats(r, m*ldc+1).F32()
				before := append([]float32(nil), c...)
				productNT(m, n, k, a, lda, b, ldb, c, ldc, accumulate)
				checkProduct(t, before, c, m, n, k, ldc, accumulate, func(i, j, p int) float64 { return float64(a[i*lda+p]) * float64(b[j*ldb+p]) })
			}
		}
	}
}

func TestProductNN(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, s := range [][3]int{{1, 1, 1}, {3, 70, 5}, {70, 3, 9}} {
		m, n, k := s[0], s[1], s[2]
		a, b, c := floats(r, m*(k+1)).F32(), floats(r, k*(n+2)).F32(), floats(r, m*(n+3)).F32()
		before := append([]float32(nil), c...)
		productNN(m, n, k, a, k+1, b, n+2, c, n+3)
		checkProduct(t, before, c, m, n, k, n+3, false, func(i, j, p int) float64 { return float64(a[i*(k+1)+p]) * float64(b[p*(n+2)+j]) })
	}
}

// checkProduct compares the m x n elements and wants those between rows unchanged.
func checkProduct(t *testing.T, before, c []float32, m, n, k, ldc int, accumulate bool, term func(i, j, p int) float64) {
	t.Helper()
	for at := range c {
		i, j := at/ldc, at%ldc
		want := float64(before[at])
		if i < m && j < n {
			if !accumulate {
				want = 0
			}
			for p := range k {
				want += term(i, j, p)
			}
		}
		if !(math.Abs(float64(c[at])-want) <= 1e-6*math.Sqrt(float64(k+1))*3) {
			t.Fatalf("%d x %d x %d: element %d, %d is %g, want %g", m, n, k, i, j, c[at], want)
		}
	}
}

// TestProductStaysInOneGoroutine: from a certain size on, gonum starts goroutines and allocates.
func TestProductStaysInOneGoroutine(t *testing.T) {
	const m, n, k = 256, 256, 512
	a, b, c := make([]float32, m*k), make([]float32, n*k), make([]float32, m*n)
	stop, most := make(chan struct{}), make(chan int)
	go func() {
		seen := 0
		for {
			seen = max(seen, runtime.NumGoroutine())
			select {
			case <-stop:
				most <- seen
				return
			case <-time.After(50 * time.Microsecond):
			}
		}
	}()
	before := runtime.NumGoroutine()
	for range 5 {
		productNT(m, n, k, a, k, b, k, c, n, false)
	}
	close(stop)
	if got := <-most; got > before {
		t.Errorf("%d goroutines during a product, %d before", got, before)
	}
	if n := testing.AllocsPerRun(3, func() { productNT(m, n, k, a, k, b, k, c, n, false) }); n != 0 {
		t.Errorf("%g allocations a product", n)
	}
}

func TestTranspose(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for rows := range 20 {
		for _, cols := range []int{1, 3, 16} {
			src, dst := floats(r, rows*(cols+2)+1).F32(), make([]float32, cols*(rows+1)+1)
			transpose(dst, rows+1, src, cols+2, rows, cols)
			for i := range rows {
				for j := range cols {
					if dst[j*(rows+1)+i] != src[i*(cols+2)+j] {
						t.Fatalf("%d x %d: element %d, %d is wrong", rows, cols, i, j)
					}
				}
			}
			for j := range cols {
				if dst[j*(rows+1)+rows] != 0 {
					t.Fatalf("%d x %d: wrote past row %d", rows, cols, j)
				}
			}
		}
	}
}
