//go:build gpu

package cuda

// #include "blas.h"
import "C"

import (
	"fmt"
	"unsafe"

	"gorgonia.org/cu"

	"prenorm/kernels"
)

// blas is cuBLAS, if it is used. It belongs to the device's goroutine.
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

// open makes the handle when it is first wanted. With "cublas" it is an error when there is none.
func (l *blas) open(stream cu.Stream) error {
	if l.use != "own" && !l.tried {
		l.tried = true
		var text *C.char
		l.handle = C.prenorm_blas_open(unsafe.Pointer(stream.C()), &text)
		if l.handle == nil {
			l.absent = fmt.Errorf("cuda: cuBLAS cannot be used: %s (install it, name it in PRENORM_LIBCUBLAS, or take kernels.matmul: own)", C.GoString(text))
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

// product is one matrix product, row-major.
type product struct {
	call     kernels.MatMul
	c, a, b  uintptr
	m, n, k  int
	lda, ldb int
}

// gemm enqueues a product. A row-major matrix is its transpose to cuBLAS, so it is asked for Cᵀ = op(B)ᵀ op(A)ᵀ.
func (l *blas) gemm(p *product) error {
	beta := C.float(0)
	if p.call.Accumulate {
		beta = 1
	}
	status := C.prenorm_blas_gemm(l.handle, bit(p.call.TransB), bit(p.call.TransA), C.int(p.n), C.int(p.m), C.int(p.k),
		C.ulonglong(p.b), C.int(p.ldb), C.ulonglong(p.a), C.int(p.lda), beta, C.ulonglong(p.c), C.int(p.n))
	if status != 0 {
		return fmt.Errorf("cublasGemmEx: status %d", int(status))
	}
	return nil
}

func bit(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
