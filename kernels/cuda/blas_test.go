//go:build gpu

package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"prenorm/kernels"
)

// TestBLASProducts holds cuBLAS's products, and what our kernel adds to them, against sums in float64 in every layout, type and precision.
func TestBLASProducts(t *testing.T) {
	needBLAS(t)
	r := rand.New(rand.NewPCG(33, 34))
	for _, precision := range kernels.Precisions() {
		b := openedIn(t, precision, "cublas")
		for mode := range 24 {
			c := kernels.MatMul{TransA: mode&1 != 0, TransB: mode&2 != 0, Bias: mode/4%2 == 1, Residual: mode/4 == 2 || mode/4 == 3, Accumulate: mode/4 >= 4}
			in, out := kernels.F32, kernels.F32
			if precision == kernels.PrecisionBF16 {
				in = kernels.BF16
				if !c.Accumulate && mode&1 == 0 {
					out = kernels.BF16
				}
			}
			q := newProblem(t, b, r, c, in, out, 37, 44, 50, memory{1, mode%3 == 0})
			what := fmt.Sprintf("%s %+v %v <- %v", precision, c, out, in)
			blas := false
			got := q.launch(func(b *builder) {
				b.multiply(q.product)
				blas = b.program.launches[0].product != nil
			})
			q.check(what, got)
			if want := out == kernels.F32 || !c.Bias && !c.Residual; blas != want {
				t.Errorf("%s: by cuBLAS: %v, want %v", what, blas, want)
			}
		}
	}
}

// TestBLASAllocates wants a launch of a product of cuBLAS to allocate nothing, as launches of our kernels do.
func TestBLASAllocates(t *testing.T) {
	needBLAS(t)
	b := openedIn(t, kernels.PrecisionFP32, "cublas")
	q := newProblem(t, b, rand.New(rand.NewPCG(35, 36)), kernels.MatMul{Bias: true}, kernels.F32, kernels.F32, 8, 8, 8, pieces)
	v := func(at uintptr, shape ...int) kernels.View { return kernels.View{Shape: shape, Dev: at} }
	launch, err := b.Bind(q.call, kernels.Args{Out: []kernels.View{v(q.c, 8, 8)}, In: []kernels.View{v(q.a, 8, 8), v(q.b, 8, 8), v(q.product.bias, 8)}})
	if err != nil {
		t.Fatal(err)
	}
	least := math.Inf(1)
	for range 3 { // the runtime may allocate on its own account at any one time
		least = min(least, testing.AllocsPerRun(5, func() {
			if err := launch(); err != nil {
				t.Fatal(err)
			}
			if err := b.Sync(); err != nil {
				t.Fatal(err)
			}
		}))
	}
	syncs := testing.AllocsPerRun(5, func() {
		if err := b.Sync(); err != nil {
			t.Fatal(err)
		}
	})
	if least > syncs {
		t.Errorf("a launch allocates %g times", least-syncs)
	}
	q.check("bound", q.result())
}
