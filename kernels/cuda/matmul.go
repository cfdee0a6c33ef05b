//go:build gpu

package cuda

import (
	_ "embed" // the PTX files

	"prenorm/kernels"
)

//go:embed matmul.ptx
var matmulPTX string

//go:embed matmulbf16.ptx
var matmulBF16PTX string

//go:embed matmultf32.ptx
var matmulTF32PTX string

var (
	matmuls     = &module{"matmul", matmulPTX}
	matmulsBF16 = &module{"matmulbf16", matmulBF16PTX}
	matmulsTF32 = &module{"matmultf32", matmulTF32PTX}
)

func init() {
	narrowed(kernels.MatMul{})
	enter(func(c kernels.MatMul, a kernels.Args, s *scratch) (uintptr, error) {
		return s.f32(productOf(c, a).partial()), nil
	}, func(b *builder, c kernels.MatMul, a kernels.Args, sums uintptr) {
		p := productOf(c, a)
		p.sums = sums
		b.multiply(p)
	})
}

// product is one matrix product, row-major: C[m,n] = op(A)[m,k] op(B)[k,n], plus what the call says. Of a call's precision it knows what
// concerns its operands.
type product struct {
	call              kernels.MatMul
	c, a, b           uintptr
	bias, residual    uintptr // the residual is c where the call accumulates
	m, n, k           int
	lda, ldb, ldc     int // distances of rows in elements
	narrow, narrowOut bool
	tf32              bool // factors of F32 operands may be rounded
	whole             bool // every element is one sum over k in order, whatever m: no slices, no kernel for few rows
	sums              uintptr
}

// productOf is the product of a call. Its views may have no memory.
func productOf(c kernels.MatMul, a kernels.Args) *product {
	p := newProduct(c, a.Out[0], a.In[0], a.In[1])
	p.m, p.n, p.k = c.Dims(a.In)
	p.lda, p.ldb, p.ldc = a.In[0].Dim(1), a.In[1].Dim(1), p.n
	if c.Bias {
		p.bias = a.In[2].Dev
	}
	if c.Residual {
		p.residual = a.In[len(a.In)-1].Dev
	}
	return p
}

// newProduct is a product without its sizes.
func newProduct(c kernels.MatMul, out, x, y kernels.View) *product {
	p := &product{call: c, c: out.Dev, a: x.Dev, b: y.Dev, narrow: x.DType == kernels.BF16, narrowOut: out.DType == kernels.BF16}
	if c.Accumulate {
		p.residual = p.c
	}
	return p
}

// partial is how many floats of workspace the product wants for the sums of its slices.
func (p *product) partial() int {
	if s := p.cut().slices; s > 1 {
		return s * p.m * p.n
	}
	return 0
}

// multiply adds a product.
func (b *builder) multiply(p *product) {
	if p.m == 0 || p.n == 0 {
		return
	}
	p.tf32 = b.precision == kernels.PrecisionTF32 && !p.narrow
	if p.suitsBLAS() && b.cublas() {
		r := p.ask()
		b.program.launches = append(b.program.launches, kernelLaunch{name: "cublasGemmEx", product: &r})
		if p.call.Bias || p.call.Residual {
			b.finish(p, p.c, 1)
		}
		return
	}
	b.own(p, p.way())
}

// own adds a product by one of our kernels.
func (b *builder) own(p *product, w way) {
	if w.tile == 0 {
		b.rows(w.module, w.name, ceil(p.n, 4), 128, p.c, p.a, p.b, p.bias, p.residual, p.m, p.n, p.k, p.lda, p.ldb, p.ldc, bit(p.narrowOut), w.vector)
		return
	}
	c, bias, residual, ldc, narrow := p.c, p.bias, p.residual, p.ldc, p.narrowOut
	if w.slices > 1 {
		c, bias, residual, ldc, narrow = p.sums, 0, 0, p.n, false
	}
	grid := [3]int{ceil(p.m, w.tile) * ceil(p.n, w.tile), w.slices, 1}
	b.launchShared(w.module, w.name, grid, w.block, w.shared, c, p.a, p.b, bias, residual, p.m, p.n, p.k, p.lda, p.ldb, ldc, bit(narrow), w.vector, w.length)
	if w.slices > 1 {
		b.finish(p, p.sums, w.slices)
	}
}

// finish adds the kernel that sums slices, which lie one after the other, and adds bias and residual.
func (b *builder) finish(p *product, sums uintptr, slices int) {
	residual := p.residual
	if p.call.Accumulate && sums == p.c { // cuBLAS has added C
		residual = 0
	}
	b.elements(matmuls, "matmul_finish", ceil(p.m*p.n, 4), p.c, sums, p.bias, residual, p.m, p.n, bit(p.narrowOut), slices)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
