//go:build gpu

package cuda

/*
#cgo LDFLAGS: -ldl
#include <cuda.h>
#include "load.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"gorgonia.org/cu"

	"prenorm/kernels"
)

// available says why there is no CUDA driver to use, nil when there is one.
func available() error {
	var text *C.char
	switch status := C.prenorm_cuda_status(&text); {
	case status < 0:
		return fmt.Errorf("cuda: %w: %s (install it, name its libcuda.so.1 in PRENORM_LIBCUDA, or use the device cpu)", kernels.ErrNoDriver, C.GoString(text))
	case status != 0:
		return fmt.Errorf("cuda: the NVIDIA driver found no usable GPU: cuInit returns error %d (%s)", int(status), noGPU)
	}
	return nil
}

// allowShared lifts the limit of 48 KiB on a kernel's dynamic shared memory, which cu cannot.
func allowShared(f cu.Function, bytes int) error {
	// cu.Function is a struct with the driver's handle as its only field, which it keeps to itself.
	handle := *(*C.CUfunction)(unsafe.Pointer(&f))
	if r := C.cuFuncSetAttribute(handle, C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(bytes)); r != 0 {
		return fmt.Errorf("cuda: cuFuncSetAttribute of %d bytes of dynamic shared memory: error %d (the GPU has less for a block)", bytes, int(r))
	}
	return nil
}

// hostAlloc allocates page-locked host memory, which cu cannot. [cu.MemFreeHost] frees it.
func hostAlloc(bytes int) ([]byte, error) {
	var p unsafe.Pointer
	if r := C.cuMemHostAlloc(&p, C.size_t(bytes), 0); r != 0 {
		return nil, fmt.Errorf("cuda: cuMemHostAlloc of %d bytes: error %d (the host has too little memory that can be locked: see ulimit -l and what else uses its memory)", bytes, int(r))
	}
	return unsafe.Slice((*byte)(p), bytes), nil
}
