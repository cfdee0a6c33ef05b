//go:build gpu

package cuda

import (
	_ "embed" // the PTX files
	"fmt"

	"prenorm/kernels"
)

//go:embed matmul.ptx
var matmulPTX string

var matmuls = &module{"matmul", matmulPTX}

func init() {
	enterPlain(func(b *builder, c kernels.MatMul, a kernels.Args) {
		m, n, k := c.Dims(a.In)
		b.matmul(c, a.Out[0].Dev, a.In[0].Dev, a.In[1].Dev, m, n, k)
	})
}

// matmul adds C = op(A) op(B), or C += with c.Accumulate, with op(A) of [m, k] and op(B) of [k, n].
func (b *builder) matmul(c kernels.MatMul, out, x, y uintptr, m, n, k int) {
	if m > 0 && n > 0 && k > 0 && b.cublas() {
		p := &product{call: c, c: out, a: x, b: y, m: m, n: n, k: k, lda: k, ldb: n}
		if c.TransA {
			p.lda = m
		}
		if c.TransB {
			p.ldb = k
		}
		b.program.launches = append(b.program.launches, kernelLaunch{name: "cublasGemmEx", product: p})
		return
	}
	tile := tileOf(m, n)
	accumulate := 0
	if c.Accumulate {
		accumulate = 1
	}
	b.rows(matmuls, fmt.Sprintf("matmul_%s%s_%d", letter(c.TransA), letter(c.TransB), tile), ceil(m, tile)*ceil(n, tile), 256, out, x, y, m, n, k, accumulate)
}

// cublas says whether products go to cuBLAS.
func (b *builder) cublas() (found bool) {
	err := b.device.do(func() error {
		err := b.device.blas.open(b.device.compute)
		found = b.device.blas.handle != nil
		return err
	})
	if b.err == nil {
		b.err = err
	}
	return found
}

// tileOf takes large tiles where there are enough of them to keep a GPU busy. Every element is the same sum over k with either.
func tileOf(m, n int) int {
	if ceil(m, 128)*ceil(n, 128) >= 64 || m*n > 0 && m%128 == 0 && n%128 == 0 && m*n >= 1<<18 {
		return 128
	}
	return 32
}

func letter(trans bool) string {
	if trans {
		return "t"
	}
	return "n"
}
