//go:build gpu

package cuda

// #include "blas.h"
import "C"

import (
	"fmt"
	"unsafe"

	"gorgonia.org/cu"
)

// blas is cuBLAS, if it is used. It belongs to the device's goroutine.
//
// The same product gives the same bits each time: cuBLAS promises that for one version of it, one architecture and one number of
// multiprocessors, as long as a handle works on one stream, as ours does, and atomic sums are off, as they are unless asked for (section
// "Results Reproducibility" of its manual). Partial sums of bfloat16 products are told to stay float32.
type blas struct {
	use    string // "auto", "own", "cublas"
	tried  bool
	handle unsafe.Pointer
	absent error // why there is none
}

// checkMatMul refuses an unknown way to multiply.
func checkMatMul(use string) (string, error) {
	switch use {
	case "":
		return "auto", nil
	case "auto", "own", "cublas":
		return use, nil
	}
	return "", fmt.Errorf("cuda: matrix products by %q: wants auto, own or cublas", use)
}

// whereBLAS is where to get cuBLAS from and how to point at it. The loader does not look where pip puts libraries.
const whereBLAS = "install it and name its file in PRENORM_LIBCUBLAS: pip puts that of nvidia-cublas-cu12 at site-packages/nvidia/cublas/lib/libcublas.so.12, " +
	"and that of CUDA 13 at site-packages/nvidia/cu13/lib/libcublas.so.13"

// open makes the handle when it is first wanted. With "cublas" it is an error when there is none.
func (l *blas) open(stream cu.Stream) error {
	if l.use != "own" && !l.tried {
		l.tried = true
		var text *C.char
		l.handle = C.prenorm_blas_open(unsafe.Pointer(stream.C()), &text)
		if l.handle == nil {
			l.absent = fmt.Errorf("cuda: cuBLAS cannot be used: %s (%s; or take kernels.matmul: own)", C.GoString(text), whereBLAS)
		}
	}
	if l.use == "cublas" {
		return l.absent
	}
	return nil
}

func (l *blas) close() {
	if l.handle != nil {
		C.prenorm_blas_close(l.handle)
	}
}

// suitsBLAS says whether cuBLAS is to be asked for a product. It has no bias, and no residual but C itself: those are added to C by one more
// kernel, which reads and writes C once more. (Copying the residual to C first and letting cuBLAS add it moves as many bytes, and sums in
// another order.) Where C is bfloat16 that would round twice, or take C in float32 besides; our kernel, which adds them to its sums, is
// the better then.
func (p *product) suitsBLAS() bool {
	return p.k > 0 && !(p.narrowOut && (p.call.Bias || p.call.Residual))
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

// Multiplies implements [kernels.Multiplier].
func (b *Backend) Multiplies() string {
	way := "own"
	_ = b.device.do(func() error { // the error of a missing cuBLAS is the first product's
		_ = b.device.blas.open(b.device.compute)
		if b.device.blas.handle != nil {
			way = "cublas"
		}
		return nil
	})
	return way
}

// request is a product as cuBLAS is asked for it.
type request = C.struct_prenorm_gemm

// ask makes the request. A row-major matrix is its transpose to cuBLAS, so it is asked for Cᵀ = op(B)ᵀ op(A)ᵀ.
func (p *product) ask() request {
	number := func(b bool) C.int { return C.int(bit(b)) }
	return request{
		trans_a: number(p.call.TransB), trans_b: number(p.call.TransA), m: C.int(p.n), n: C.int(p.m), k: C.int(p.k),
		a: C.ulonglong(p.b), lda: C.int(p.ldb), b: C.ulonglong(p.a), ldb: C.int(p.lda), c: C.ulonglong(p.c), ldc: C.int(p.ldc),
		narrow: number(p.narrow), narrow_out: number(p.narrowOut), tf32: number(p.tf32), beta: C.float(bit(p.call.Accumulate)),
	}
}

// gemm enqueues a product.
func (l *blas) gemm(r *request) error {
	if status := C.prenorm_blas_gemm(l.handle, r); status != 0 {
		return fmt.Errorf("cublasGemmEx: status %d (set kernels.matmul: own to multiply without cuBLAS)", int(status))
	}
	return nil
}
