package cpu

import (
	"unsafe"

	"prenorm/kernels"
)

// packedFunc is y[j] = x · w[j] for n packed rows w of k elements, ldw bytes apart, with scales lds halves of words apart where the packing has
// them; k is a multiple of [kernels.PackRun] and not 0. The sums have the bits of [dotsFunc] on the rows widened.
type packedFunc func(y, x *float32, w *byte, ldw int, scales *uint16, lds, k, n int)

func dotsHalvesGo(y, x *float32, w *byte, ldw int, _ *uint16, _, k, n int) {
	dotsPackedGo(y, x, n, k, func(j, p int, run []float32) {
		widenHalvesGo(run, unsafe.Slice((*uint32)(unsafe.Add(unsafe.Pointer(w), j*ldw+2*p)), kernels.PackRun/2))
	})
}

func dotsBytesGo(y, x *float32, w *byte, ldw int, scales *uint16, lds, k, n int) {
	dotsPackedGo(y, x, n, k, func(j, p int, run []float32) {
		r := p / kernels.PackRun
		scale := *(*uint32)(unsafe.Add(unsafe.Pointer(scales), 2*j*lds+r/2*4))
		words := unsafe.Slice((*uint32)(unsafe.Add(unsafe.Pointer(w), j*ldw+p)), kernels.PackRun/4)
		widenBytesGo(run, words, uint16(scale>>(16*(r%2))))
	})
}

// dotsPackedGo adds as [dot] does. load widens the run of row j that starts at element p.
func dotsPackedGo(y, x *float32, n, k int, load func(j, p int, run []float32)) {
	out, a := unsafe.Slice(y, n), unsafe.Slice(x, k)
	var run [kernels.PackRun]float32
	for j := range out {
		var s [4]float32
		for p := 0; p < k; p += len(run) {
			load(j, p, run[:])
			for i, v := range run {
				s[i%4] += a[p+i] * v
			}
		}
		out[j] = (s[0] + s[1]) + (s[2] + s[3])
	}
}

func widenHalvesGo(y []float32, words []uint32) {
	for i := range y {
		y[i] = kernels.FromBF16(uint16(words[i/2] >> (16 * (i % 2))))
	}
}

func widenBytesGo(y []float32, words []uint32, scale uint16) {
	s := kernels.FromBF16(scale)
	for i := range y {
		y[i] = float32(int8(words[i/4]>>(8*(i%4)))) * s
	}
}

// expandFunc widens runs of weights of 8 bits, each with a scale; there is one at least.
type expandFunc func(y *float32, w *byte, scales *uint16, runs int)

func expandGo(y *float32, w *byte, scales *uint16, runs int) {
	words := unsafe.Slice((*uint32)(unsafe.Pointer(w)), runs*kernels.PackRun/4)
	halves := unsafe.Slice((*uint32)(unsafe.Pointer(scales)), (runs+1)/2)
	out := unsafe.Slice(y, runs*kernels.PackRun)
	for r := range runs {
		widenBytesGo(out[r*kernels.PackRun:][:kernels.PackRun], words[r*kernels.PackRun/4:], uint16(halves[r/2]>>(16*(r%2))))
	}
}

func widenRowGo(y []float32, w *byte) {
	widenHalvesGo(y, unsafe.Slice((*uint32)(unsafe.Pointer(w)), len(y)/2))
}

// convertStep is the number of elements of which those functions that change types take a multiple.
const convertStep = 16

func widenRowsGo(y []float32, ldy int, x []uint16, ldx, n, rows int) {
	for i := range rows {
		widenGo(y[i*ldy:][:n], x[i*ldx:][:n])
	}
}
