package cpu

import (
	"math/rand/v2"
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"

	"prenorm/kernels"
)

// atEnd is room for n floats that end where memory ends: reading past them faults.
func atEnd(t *testing.T, n int) []float32 {
	t.Helper()
	page := syscall.Getpagesize()
	size := (4*n + page - 1) / page * page
	mem, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(mem) })
	if err := syscall.Mprotect(mem[size:], syscall.PROT_NONE); err != nil {
		t.Skip(err)
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(mem[size-4*n:]))), n)
}

// TestReadsWithinOperands multiplies operands that end where memory ends, on every tier and in every form.
func TestReadsWithinOperands(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	r := rand.New(rand.NewPCG(13, 14))
	for _, level := range tiers() {
		b := newBackend(1, level)
		defer func() { _ = b.Close() }()
		for form := range 4 {
			for _, s := range [][3]int{{1, 5, 33}, {13, 7, 9}, {20, 33, 17}, {50, 49, 40}, {7, 300, 65}, {300, 20, 900}, {90, 513, 100}} {
				m, n, k := s[0]+r.IntN(3), s[1]+r.IntN(3), s[2]+r.IntN(3)
				c := kernels.MatMul{TransA: form&1 != 0, TransB: form&2 != 0, Bias: true, Residual: true}
				x, w := kernels.HostView(atEnd(t, m*k), m, k), kernels.HostView(atEnd(t, n*k), k, n)
				if c.TransA {
					x.Shape = []int{k, m}
				}
				if c.TransB {
					w.Shape = []int{n, k}
				}
				func() {
					defer func() {
						if fault := recover(); fault != nil {
							t.Errorf("%s, %+v, %d x %d x %d: %v", level.name, c, m, n, k, fault)
						}
					}()
					must(t, b, c, kernels.Args{Out: []kernels.View{kernels.HostView(atEnd(t, m*n), m, n)},
						In: []kernels.View{x, w, kernels.HostView(atEnd(t, n), n), kernels.HostView(atEnd(t, m*n), m, n)}})
				}()
			}
		}
		for packing := range kernels.Packing(2) {
			const n, k = 7, 96
			for _, m := range []int{1, 20} {
				words := packing.Packed(n, k)
				for i, v := range words {
					f := atEnd(t, v.Len())
					words[i].Host = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(f))), v.Bytes())
				}
				func() {
					defer func() {
						if fault := recover(); fault != nil {
							t.Errorf("%s, packed as %v: %v", level.name, packing, fault)
						}
					}()
					must(t, b, kernels.PackedMatMul{Packing: packing}, kernels.Args{Out: []kernels.View{kernels.HostView(make([]float32, m*n), m, n)},
						In: append([]kernels.View{kernels.HostView(atEnd(t, m*k), m, k)}, words...)})
				}()
			}
		}
	}
}
