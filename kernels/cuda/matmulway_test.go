//go:build gpu

package cuda

import (
	"testing"

	"prenorm/kernels"
)

// TestWay pins which kernel takes which product.
func TestWay(t *testing.T) {
	nn, nt, tn, tt := kernels.MatMul{}, kernels.MatMul{TransB: true}, kernels.MatMul{TransA: true}, kernels.MatMul{TransA: true, TransB: true}
	const base = 1 << 20
	for _, c := range []struct {
		call       kernels.MatMul
		m, n, k    int
		precision  string // of the operands
		a, lda     int    // address beside base, distance of rows; 0 = as k says
		whole      bool
		want       string
		slices     int
		wantVector int
	}{
		{nt, 16384, 768, 768, "fp32", 0, 0, false, "matmul_nt_128", 1, 3},
		{nt, 16384, 768, 768, "tf32", 0, 0, false, "matmul_tf32_nt_128", 1, 3},
		{nt, 16384, 768, 768, "bf16", 0, 0, false, "matmul_bf16_nt_128", 1, 3},
		{nn, 16384, 768, 768, "bf16", 8, 0, false, "matmul_bf16_nn_64", 1, 2},    // not at 16 bytes
		{nn, 16384, 768, 768, "bf16", 0, 772, false, "matmul_bf16_nn_64", 1, 2},  // rows not at 16 bytes
		{nn, 16384, 768, 768, "tf32", 0, 772, false, "matmul_tf32_nn_128", 1, 3}, // four floats are 16 bytes
		{nn, 16384, 768, 768, "fp32", 4, 0, false, "matmul_nn_128", 1, 2},
		{tn, 768, 768, 16384, "bf16", 0, 768, false, "matmul_bf16_tn_128", 5, 3}, // the gradient of a weight
		{tn, 768, 768, 16384, "bf16", 2, 768, false, "matmul_bf16_tn_64", 5, 2},  // alignment does not change the slices
		{tn, 768, 768, 16384, "bf16", 0, 768, true, "matmul_bf16_tn_64", 1, 3},
		{tn, 64, 64, 1 << 17, "fp32", 0, 64, false, "matmul_tn_64", 16, 3},
		{tt, 16384, 768, 768, "bf16", 0, 16384, false, "matmul_bf16_tt_64", 1, 3},
		{nt, 1, 50257, 768, "fp32", 0, 0, false, "matmul_few_1", 1, 3},
		{nt, 3, 768, 768, "tf32", 0, 0, false, "matmul_few_4", 1, 3},
		{nt, 8, 768, 768, "fp32", 4, 0, false, "matmul_few_8", 1, 2},
		{nt, 8, 768, 128, "fp32", 0, 0, true, "matmul_nt_64", 1, 3},
		{nt, 9, 768, 128, "fp32", 0, 0, false, "matmul_nt_64", 1, 3},
		{nn, 8, 768, 128, "fp32", 0, 0, false, "matmul_nn_64", 1, 3},
		{nt, 8, 768, 128, "bf16", 0, 0, false, "matmul_bf16_nt_64", 1, 3},
		{nn, 64, 64, 0, "fp32", 0, 4, false, "matmul_nn_64", 1, 3},
	} {
		p := &product{call: c.call, a: uintptr(base + c.a), b: base, m: c.m, n: c.n, k: c.k, lda: c.lda, ldb: 768, narrow: c.precision == "bf16", tf32: c.precision == "tf32", whole: c.whole}
		if p.lda == 0 {
			p.lda = p.k
		}
		w := p.way()
		if w.name != c.want || w.slices != c.slices || w.vector != c.wantVector {
			t.Errorf("%+v of %d x %d x %d in %s: %s, %d slices, alignment %b; want %s, %d, %b", c.call, c.m, c.n, c.k, c.precision, w.name, w.slices, w.vector, c.want, c.slices, c.wantVector)
		}
		if w.slices > 1 && (w.length%32 != 0 || w.length*w.slices < c.k || w.length*(w.slices-1) >= c.k) {
			t.Errorf("%d slices of %d do not make %d", w.slices, w.length, c.k)
		}
		if w.shared > staticShared {
			t.Errorf("%s wants %d bytes of shared memory: an SM of sm_86 would not hold two blocks", w.name, w.shared)
		}
		if partial := p.partial(); (w.slices > 1) != (partial == w.slices*c.m*c.n) || w.slices == 1 && partial != 0 {
			t.Errorf("%d slices have a workspace of %d floats", w.slices, partial)
		}
	}
}
