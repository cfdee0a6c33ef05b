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
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(mem) })
	if err := syscall.Mprotect(mem[size:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
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
			// Each size is one of so many from these on; a tile's columns but one are the most that it has to mask.
			for _, s := range [][4]int{{1, 5, 33, 3}, {13, 7, 9, 3}, {20, 33, 17, 3}, {50, 49, 40, 3}, {7, 300, 65, 3}, {300, 20, 900, 3}, {90, 513, 100, 3}, {20, level.cols - 1, 17, 1}} {
				m, n, k := s[0]+r.IntN(s[3]), s[1]+r.IntN(s[3]), s[2]+r.IntN(s[3])
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

// TestCachedReadsWithinOperands reads queries and caches that end where memory ends, in float32 and in bfloat16, for few new rows and many, with
// the last of them at the end of the cache.
func TestCachedReadsWithinOperands(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	ended := func(d kernels.DType, rows, width int) kernels.View {
		v := kernels.Shaped(d, rows, width)
		f := atEnd(t, (v.Bytes()+3)/4)
		v.Host = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(f))), 4*len(f))[4*len(f)-v.Bytes():]
		return v
	}
	for _, level := range tiers() {
		b := newBackend(1, level)
		defer func() { _ = b.Close() }()
		for _, cache := range []kernels.DType{kernels.F32, kernels.BF16} {
			for _, dim := range []int{1, 5, 16, 33, 48, 64, 80} {
				for _, rows := range [][2]int{{1, 1}, {1, 37}, {3, 100}, {fewQueries, 33}, {fewQueries + 1, 40}, {cachedBlock + 3, 70}} {
					n, context := rows[0], rows[1]
					c := kernels.CachedAttention{Heads: 2, KVHeads: 1, HeadDim: dim, T: n, Context: context, Scale: 0.2}
					func() {
						defer func() {
							if fault := recover(); fault != nil {
								t.Errorf("%s, %+v, cache of %v: %v", level.name, c, cache, fault)
							}
						}()
						must(t, b, c, kernels.Args{Out: []kernels.View{ended(kernels.F32, n, 2*dim)},
							In: []kernels.View{ended(kernels.F32, n, 2*dim), ended(cache, context, dim), ended(cache, context, dim), kernels.HostView([]int32{int32(context - n)}, 1)}})
					}()
				}
			}
		}
	}
}
