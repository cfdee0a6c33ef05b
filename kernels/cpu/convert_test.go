package cpu

import (
	"bytes"
	"math"
	"testing"
	"unsafe"

	"prenorm/kernels"
)

// words16 reads memory of floats as that of twice as many 16-bit words.
func words16(x []float32) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

// TestConversionFunctions: every bfloat16 widened, and floats at, below and above the middle between every two narrowed, NaN, infinities and
// small numbers included.
func TestConversionFunctions(t *testing.T) {
	x := make([]float32, 0, 6<<16)
	all := make([]uint16, 1<<16)
	for upper := range all {
		all[upper] = uint16(upper)
		for _, lower := range []int{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff} {
			x = append(x, math.Float32frombits(uint32(upper<<16|lower)))
		}
	}
	for _, level := range tiers() {
		y, wide := make([]uint16, len(x)), make([]float32, len(all))
		level.narrow(y, x)
		for i, v := range x {
			if want := kernels.ToBF16(v); y[i] != want {
				t.Fatalf("%s: %#x is narrowed to %#x, want %#x", level.name, math.Float32bits(v), y[i], want)
			}
		}
		level.widen(wide, all)
		for i, v := range wide {
			if math.Float32bits(v) != uint32(i)<<16 {
				t.Fatalf("%s: %#x is widened to %#x", level.name, i, math.Float32bits(v))
			}
		}
	}
}

// TestConversionLengths: every length of rest, and nothing written beside it.
func TestConversionLengths(t *testing.T) {
	for _, level := range tiers() {
		for n := range 70 {
			x := floats(source(), n).F32()
			allNarrow, y := guarded((n + 1) / 2)
			narrow := words16(y)[:n]
			level.narrow(narrow, x)
			allWide, wide := guarded(n)
			level.widen(wide, narrow)
			unharmed(t, level.name, allNarrow)
			unharmed(t, level.name, allWide)
			for i, v := range x {
				if wide[i] != kernels.FromBF16(kernels.ToBF16(v)) {
					t.Fatalf("%s: element %d of %d is %g, was %g", level.name, i, n, wide[i], v)
				}
			}
			if n%2 == 1 && words16(y)[n] != 0xa5a5 {
				t.Fatalf("%s: %d elements narrowed, and one more written", level.name, n)
			}
		}
	}
}

// TestConvert binds every choice of types, with enough elements for several tasks.
func TestConvert(t *testing.T) {
	everyBackend(t, func(t *testing.T, b *Backend) {
		const n = 3*spanSize + 21
		x := floats(source(), n)
		narrow, wide := kernels.HostView(make([]uint16, n), n), kernels.HostView(make([]float32, n), n)
		narrowGo(narrow.BF16(), x.F32())
		widenGo(wide.F32(), narrow.BF16())
		for _, c := range []struct{ in, want kernels.View }{{x, x}, {x, narrow}, {narrow, narrow}, {narrow, wide}} {
			a := kernels.Args{In: []kernels.View{c.in}, Out: []kernels.View{fresh(c.want)}}
			must(t, b, kernels.Convert{}, a)
			if !bytes.Equal(a.Out[0].Host, c.want.Host) {
				t.Errorf("%d workers: %v from %v is wrong", b.workers(), c.want, c.in)
			}
		}
	})
}
