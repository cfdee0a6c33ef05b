package cpu

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go -C gen run . ..

var (
	avx512 = &tier{name: "avx512", rows: 12, cols: 32, inRows: rows512, inColumns: columns512, masked: true,
		packTurn: packTurnVector, packCopy: packCopyVector, dots: dots512}
	avx2 = &tier{name: "avx2", rows: 6, cols: 16, inRows: rows256, inColumns: columns256,
		packTurn: packTurnVector, packCopy: packCopyVector, dots: dots256}
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

// packCopyVector is [packFunc] by whole vectors.
func packCopyVector(dst []float32, w int, src []float32, ld, n, k int) {
	d, s := unsafe.SliceData(dst), unsafe.SliceData(src)
	switch {
	case w <= 8:
		pack8(d, w, s, ld, n, k)
	case w <= 16:
		pack16(d, w, s, ld, n, k)
	default:
		pack32(d, w, s, ld, n, k)
	}
}
