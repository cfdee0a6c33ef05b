package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
)

// turn writes the transposition of 8 rows: dst[j, i] = src[i, j] for i < 8 and j < 8·blocks. Of fewer rows than 8 the last is repeated.
func (a *assembler) turn() {
	a.begin("turn8", "func(dst *float32, ldd int, src *float32, lds int, rows int, blocks int)",
		"turn8 is dst[j, i] = src[i, j] for i < 8 and j < 8 blocks. Where rows is below 8, the last row is read again.")
	dst, ldd, src, lds := a.integer("dst"), a.stride("ldd"), a.integer("src"), a.stride("lds")
	rows, blocks := a.integer("rows"), a.integer("blocks")
	x, t := a.vectors(level{bits: 256}, 8), a.vectors(level{bits: 256}, 8)
	p, q := a.GP64(), a.GP64()
	a.Label("loop")
	a.MOVQ(src, p)
	for i := range 8 {
		a.VMOVUPS(operand.Mem{Base: p}, x[i])
		if i < 7 {
			a.LEAQ(operand.Mem{Base: p, Index: lds, Scale: 1}, q)
			a.CMPQ(rows, operand.Imm(uint64(i+1)))
			a.CMOVQGT(q, p)
		}
	}
	for i := range 4 {
		a.VUNPCKLPS(x[2*i+1], x[2*i], t[2*i])
		a.VUNPCKHPS(x[2*i+1], x[2*i], t[2*i+1])
	}
	for h := 0; h < 8; h += 4 {
		a.VUNPCKLPD(t[h+2], t[h], x[h])
		a.VUNPCKHPD(t[h+2], t[h], x[h+1])
		a.VUNPCKLPD(t[h+3], t[h+1], x[h+2])
		a.VUNPCKHPD(t[h+3], t[h+1], x[h+3])
	}
	for j := range 4 {
		a.VPERM2F128(operand.Imm(0x20), x[4+j], x[j], t[j])
		a.VPERM2F128(operand.Imm(0x31), x[4+j], x[j], t[4+j])
	}
	for i := range 8 {
		a.VMOVUPS(t[i], operand.Mem{Base: dst})
		a.ADDQ(ldd, dst)
	}
	a.ADDQ(operand.Imm(32), src)
	a.DECQ(blocks)
	a.JNZ(to("loop"))
	a.end()
}

// pack writes the copy of k rows of n floats into rows of 8·vectors, zero past n, at a pitch that may be less than that: each row then
// overwrites the end of the one before.
func (a *assembler) pack(vectors int) {
	name := fmt.Sprintf("pack%d", 8*vectors)
	a.begin(name, "func(dst *float32, ldd int, src *float32, lds int, n int, k int)",
		fmt.Sprintf("%s copies k rows of n floats, filled up with zeros to %d. Where ldd is less, each row overwrites the end of the one before.", name, 8*vectors))
	dst, ldd, src, lds := a.integer("dst"), a.stride("ldd"), a.integer("src"), a.stride("lds")
	n, k := a.integer("n"), a.integer("k")
	masks, x := a.vectors(level{bits: 256}, vectors), a.vectors(level{bits: 256}, vectors)
	a.wordMasks(n, masks...)
	a.Label("loop")
	for i := range vectors {
		a.VMASKMOVPS(operand.Mem{Base: src, Disp: 32 * i}, masks[i], x[i])
	}
	a.PREFETCHT0(operand.Mem{Base: src, Index: lds, Scale: 8})
	if vectors == 4 {
		a.PREFETCHT0(operand.Mem{Base: src, Index: lds, Scale: 8, Disp: 64})
	}
	for i := range vectors {
		a.VMOVUPS(x[i], operand.Mem{Base: dst, Disp: 32 * i})
	}
	a.ADDQ(lds, src)
	a.ADDQ(ldd, dst)
	a.DECQ(k)
	a.JNZ(to("loop"))
	a.end()
}
