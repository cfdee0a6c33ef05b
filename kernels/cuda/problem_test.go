//go:build gpu

package cuda

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
)

// problem is a product with its operands on the host, as float64, and where they lie on the device.
type problem struct {
	*product
	x, y, bias, residual []float64 // op(A)[m,k], op(B)[k,n], [n], [m,n]
	at                   placer
}

// memory says how a problem lies there: its rows at multiples of some elements, or one element past an aligned address.
type memory struct {
	multiple int
	shifted  bool
}

var (
	pieces   = memory{multiple: 8}                // as kernels that copy 16 bytes want it
	anywhere = memory{multiple: 1, shifted: true} // as views may lie
)

// newProblem makes a random product in device memory. Its call says which of bias, residual and C are added; a C that is not is NaN before.
func newProblem(t *testing.T, b *Backend, r *rand.Rand, c kernels.MatMul, in, out kernels.DType, m, n, k int, lie memory) *problem {
	t.Helper()
	q := &problem{product: &product{call: c, m: m, n: n, k: k, narrow: in == kernels.BF16, narrowOut: out == kernels.BF16}, at: placer{t, b}}
	q.tf32 = b.precision == kernels.PrecisionTF32 && !q.narrow
	q.x, q.y = normals(r, m*k, in), normals(r, k*n, in)
	q.a, q.lda = q.place(q.x, m, k, c.TransA, in, lie)
	q.b, q.ldb = q.place(q.y, k, n, c.TransB, in, lie)
	q.ldc = n
	if c.Bias {
		q.bias = normals(r, n, kernels.F32)
		q.product.bias, _ = q.place(q.bias, 1, n, false, kernels.F32, memory{1, lie.shifted})
	}
	if c.Residual || c.Accumulate {
		q.residual = normals(r, m*n, kernels.F32)
		q.product.residual, _ = q.place(q.residual, m, n, false, kernels.F32, memory{1, lie.shifted})
	}
	q.c, _ = q.place(slices.Repeat([]float64{math.NaN()}, m*n), m, n, false, out, memory{1, lie.shifted})
	if c.Accumulate {
		q.c = q.product.residual
	}
	return q
}

// normals are normally distributed numbers that a type can hold.
func normals(r *rand.Rand, n int, dtype kernels.DType) []float64 {
	x := make([]float64, n)
	for i := range x {
		f := float32(r.NormFloat64())
		if dtype == kernels.BF16 {
			f = kernels.FromBF16(kernels.ToBF16(f))
		}
		x[i] = float64(f)
	}
	return x
}

// place copies a matrix to the device, transposed or not, and returns its address and the distance of its rows. What lies between rows is NaN.
func (q *problem) place(x []float64, rows, columns int, trans bool, dtype kernels.DType, lie memory) (uintptr, int) {
	at := func(i, j int) float64 { return x[i*columns+j] }
	if trans {
		rows, columns = columns, rows
		at = func(i, j int) float64 { return x[j*rows+i] }
	}
	ld := ceil(columns, lie.multiple) * lie.multiple
	shift := 0
	if lie.shifted {
		shift = 1
	}
	wide, short := make([]float32, rows*ld+shift), make([]uint16, rows*ld+shift)
	for i := range wide {
		wide[i] = float32(math.NaN())
	}
	for i := range rows {
		for j := range columns {
			wide[shift+i*ld+j] = float32(at(i, j))
		}
	}
	for i, v := range wide {
		short[i] = kernels.ToBF16(v)
	}
	view := q.at.view(kernels.Shaped(dtype, len(wide)))
	var err error
	if dtype == kernels.BF16 {
		err = q.at.be.Upload(view, short)
	} else {
		err = q.at.be.Upload(view, wide)
	}
	if err != nil {
		q.at.t.Fatal(err)
	}
	return view.Dev + uintptr(shift*dtype.Size()), ld
}

// launch runs what a builder adds and returns C.
func (q *problem) launch(add func(b *builder)) []float64 {
	q.at.t.Helper()
	be := q.at.be.(*Backend)
	p := &program{call: q.call}
	b := &builder{device: be.device, precision: be.precision, program: p}
	add(b)
	if b.err != nil {
		q.at.t.Fatal(b.err)
	}
	be.device.jobs <- job{program: p}
	return q.result()
}

// by runs the product by one of our kernels.
func (q *problem) by(w way) []float64 {
	q.at.t.Helper()
	if w.slices > 1 {
		q.sums = q.at.view(kernels.Shaped(kernels.F32, w.slices*q.m*q.n)).Dev
	}
	return q.launch(func(b *builder) { b.own(q.product, w) })
}

func (q *problem) result() []float64 {
	q.at.t.Helper()
	n := q.m * q.n
	wide, short := make([]float32, n), make([]uint16, n)
	var err error
	if q.narrowOut {
		err = q.at.be.Download(short, kernels.View{Shape: []int{n}, DType: kernels.BF16, Dev: q.c})
	} else {
		err = q.at.be.Download(wide, kernels.View{Shape: []int{n}, DType: kernels.F32, Dev: q.c})
	}
	if err != nil {
		q.at.t.Fatal(err)
	}
	all := make([]float64, n)
	for i := range all {
		if all[i] = float64(wide[i]); q.narrowOut {
			all[i] = float64(kernels.FromBF16(short[i]))
		}
	}
	return all
}

// check compares C with the sums in float64 and returns the largest error in units of the bound. A float32 sum of k products is off by at most
// k+3 roundings of 2^-24 of the sum of their sizes, the bias and the residual included; tensor cores may cut off where others round, which
// is twice that. Rounding a factor to tf32 is 2^-11 of each product, storing a bfloat16 2^-8 of the result.
func (q *problem) check(what string, got []float64) (worst float64) {
	q.at.t.Helper()
	for i := range q.m {
		for j := range q.n {
			sum, size := 0.0, 0.0
			add := func(v float64) { sum, size = sum+v, size+math.Abs(v) }
			for l := range q.k {
				add(q.x[i*q.k+l] * q.y[l*q.n+j])
			}
			bound := 0.0
			if q.tf32 {
				bound = 2 * 0x1.01p-11 * size
			}
			if q.bias != nil {
				add(q.bias[j])
			}
			if q.residual != nil {
				add(q.residual[i*q.n+j])
			}
			bound += float64(q.k+3) * 0x1p-23 * size
			if q.narrowOut {
				bound += 0x1p-8 * (math.Abs(sum) + bound)
			}
			off := math.Abs(got[i*q.n+j] - sum)
			if !(off <= bound) {
				q.at.t.Errorf("%s, %d x %d x %d: element [%d, %d] is %g, want %g: off by %g, allowed are %g", what, q.m, q.n, q.k, i, j, got[i*q.n+j], sum, off, bound)
				return math.Inf(1)
			}
			if bound > 0 {
				worst = max(worst, off/bound)
			}
		}
	}
	return worst
}

// exceeds says whether any element is further from its sum than float32 explains.
func (q *problem) exceeds(got []float64) bool {
	for i := range q.m {
		for j := range q.n {
			sum, size := 0.0, 0.0
			for l := range q.k {
				v := q.x[i*q.k+l] * q.y[l*q.n+j]
				sum, size = sum+v, size+math.Abs(v)
			}
			if math.Abs(got[i*q.n+j]-sum) > float64(q.k+3)*0x1p-23*size {
				return true
			}
		}
	}
	return false
}

// family is the type of the operands that a kernel is for, and the precision.
func family(name string) (kernels.DType, kernels.Precision) {
	switch {
	case strings.Contains(name, "bf16"):
		return kernels.BF16, kernels.PrecisionBF16
	case strings.Contains(name, "tf32"):
		return kernels.F32, kernels.PrecisionTF32
	}
	return kernels.F32, kernels.PrecisionFP32
}

// openedIn is a backend in the precision that a kernel is for.
func openedIn(t *testing.T, precision kernels.Precision, products string) *Backend {
	t.Helper()
	b, err := New(kernels.Options{MatMul: products, Precision: precision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}
