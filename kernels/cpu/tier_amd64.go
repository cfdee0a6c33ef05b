package cpu

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go -C gen run . ..

var (
	avx512 = &tier{name: "avx512", rows: 12, cols: 32, inRows: rows512, inColumns: columns512, masked: true,
		packTurn: packTurnVector, packCopy: packCopyVector, dots: dots512, packed: [2]packedFunc{dotsHalves512, dotsBytes512}, widenHalves: widenRow(widen512), expand: expand512, widenStrided: widenRowsVector(widenRows512), weigh: weigh512, multiplyAdds: multiplyAdds512, vectors: vectors512, far: &vectorsFar512, fence: fence, fetch: fetch}
	avx2 = &tier{name: "avx2", rows: 6, cols: 16, inRows: rows256, inColumns: columns256,
		packTurn: packTurnVector, packCopy: packCopyVector, dots: dots256, packed: [2]packedFunc{dotsHalves256, dotsBytes256}, widenHalves: widenRow(widen256), expand: expand256, widenStrided: widenRowsVector(widenRows256), weigh: weigh256, multiplyAdds: multiplyAdds256, vectors: vectors256, far: &vectorsFar256, fence: fence, fetch: fetch}
)

var (
	rows512    = []tileFunc{nil, tile512Rows1, tile512Rows2, tile512Rows3, tile512Rows4, tile512Rows5, tile512Rows6, tile512Rows7, tile512Rows8, tile512Rows9, tile512Rows10, tile512Rows11, tile512Rows12}
	columns512 = []tileFunc{nil, tile512Columns1, tile512Columns2, tile512Columns3, tile512Columns4, tile512Columns5, tile512Columns6, tile512Columns7, tile512Columns8, tile512Columns9, tile512Columns10, tile512Columns11, tile512Columns12}
	rows256    = []tileFunc{nil, tile256Rows1, tile256Rows2, tile256Rows3, tile256Rows4, tile256Rows5, tile256Rows6}
	columns256 = []tileFunc{nil, tile256Columns1, tile256Columns2, tile256Columns3, tile256Columns4, tile256Columns5, tile256Columns6}
)

// vectorTiers lists the tiers in assembly that the processor and the system support.
func vectorTiers() []*tier {
	x := &cpu.X86
	var all []*tier
	if !x.HasAVX2 || !x.HasFMA || !x.HasBMI2 {
		return nil
	}
	if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL {
		all = append(all, avx512)
	}
	return append(all, avx2)
}

func narrowVector(steps func(y []uint16, x []float32)) func(y []uint16, x []float32) {
	return func(y []uint16, x []float32) {
		n := len(y) &^ (convertStep - 1)
		steps(y[:n], x)
		narrowGo(y[n:], x[n:])
	}
}

func widenVector(steps func(y []float32, x []uint16)) func(y []float32, x []uint16) {
	return func(y []float32, x []uint16) {
		n := len(y) &^ (convertStep - 1)
		steps(y[:n], x)
		widenGo(y[n:], x[n:])
	}
}

func widenRowsVector(steps func(y *float32, ldy int, x *uint16, ldx, n, rows int)) func(y []float32, ldy int, x []uint16, ldx, n, rows int) {
	return func(y []float32, ldy int, x []uint16, ldx, n, rows int) {
		whole := n &^ (convertStep - 1)
		if whole > 0 {
			steps(&y[0], ldy, &x[0], ldx, whole, rows)
		}
		if whole < n {
			widenRowsGo(y[whole:], ldy, x[whole:], ldx, n-whole, rows)
		}
	}
}

// dropoutStep is the number of elements of which assembly takes a multiple.
const dropoutStep = 32

// dropoutVector leaves the rest of a slice to Go.
func dropoutVector(steps func(y, x []float32, block uint32, draw *uint32)) dropoutFunc {
	return func(y, x []float32, block uint32, d *draw) {
		n := len(y) &^ (dropoutStep - 1)
		steps(y[:n], x[:n], block, &d.keys[0][0])
		dropoutGo(y[n:], x[n:], block+uint32(n/4), d)
	}
}

// widenRow is for processors whose words have the low half first.
func widenRow(steps func(y []float32, x []uint16)) func(y []float32, w *byte) {
	return func(y []float32, w *byte) { steps(y, unsafe.Slice((*uint16)(unsafe.Pointer(w)), len(y))) }
}

// packTurnVector is [packFunc] by blocks of 8 x 8. A block's rows of eight may reach into the next step, so the panel's last eight columns come
// first, and steps in their order.
func packTurnVector(dst []float32, w int, src []float32, ld, n, k int) {
	if k < 8 {
		packTurnGo(dst, w, src, ld, n, k)
		return
	}
	for i := (n - 1) &^ 7; i >= 0; i -= 8 {
		rows := min(8, n-i)
		turn8(&dst[i], w, &src[i*ld], ld, rows, k/8)
		if k%8 != 0 {
			turn8(&dst[(k-8)*w+i], w, &src[i*ld+k-8], ld, rows, 1)
		}
	}
}

// packCopyVector is [packFunc] by whole vectors. Where these would reach past the panel, the last step is copied by itself.
func packCopyVector(dst []float32, w int, src []float32, ld, n, k int) {
	whole := k
	if w%8 != 0 {
		whole--
	}
	if whole > 0 {
		packVectors(unsafe.SliceData(dst), w, unsafe.SliceData(src), ld, n, whole)
	}
	if whole < k {
		copy(dst[whole*w:][:n], src[whole*ld:])
	}
}

func packVectors(dst *float32, w int, src *float32, ld, n, k int) {
	switch {
	case w <= 8:
		pack8(dst, w, src, ld, n, k)
	case w <= 16:
		pack16(dst, w, src, ld, n, k)
	default:
		pack32(dst, w, src, ld, n, k)
	}
}
