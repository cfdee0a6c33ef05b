package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
)

// halves writes what attention does with keys and values in bfloat16.
func (a *assembler) halves(l level) {
	a.widenRows(l)
	a.weigh(l)
}

func (a *assembler) widenRows(l level) {
	name := fmt.Sprintf("widenRows%d", l.bits)
	a.begin(name, "func(y *float32, ldy int, x *uint16, ldx int, n int, rows int)",
		name+" is y = x for rows of n elements of x, which is bfloat16, ldx apart, and of y, ldy apart; n is a multiple of 16, and neither it nor rows is 0.")
	y, ldy, x, ldx := a.integer("y"), a.stride("ldy"), a.integer("x"), a.integer("ldx")
	n, rows, at := a.integer("n"), a.integer("rows"), a.GP64()
	a.SHLQ(operand.Imm(1), ldx)
	a.Label("row")
	a.XORQ(at, at)
	a.Label("step")
	for part := range 512 / l.bits {
		v := a.half(l, operand.Mem{Base: x, Index: at, Scale: 2, Disp: part * l.bits / 16})
		a.VMOVUPS(v, operand.Mem{Base: y, Index: at, Scale: 4, Disp: part * l.bits / 8})
	}
	a.ADDQ(operand.Imm(16), at)
	a.CMPQ(at, n)
	a.JL(to("step"))
	a.ADDQ(ldx, x)
	a.ADDQ(ldy, y)
	a.DECQ(rows)
	a.JNZ(to("row"))
	a.end()
}

// half widens a vector of bfloat16.
func (a *assembler) half(l level, m operand.Mem) vec {
	v := l.vector(a)
	a.VPMOVZXWD(m, v)
	a.VPSLLD(operand.Imm(16), v, v)
	return v
}

// weigh writes the sum of values by their probabilities, up to 64 columns at a time.
func (a *assembler) weigh(l level) {
	name, per := fmt.Sprintf("weigh%d", l.bits), 512/l.bits
	a.begin(name, "func(y *float32, s *float32, x *uint16, ldx int, n int, rows int, add int)",
		name+" is y = the sum of s[p] x[p], or y += with add, for rows x[p] of n elements in bfloat16, ldx apart: for each element one chain of",
		"multiply-adds from 0, as in a tile of a product. n is a multiple of 16, and neither it nor rows is 0.")
	y, s, x, ldx := a.integer("y"), a.integer("s"), a.integer("x"), a.integer("ldx")
	n, rows, add := a.integer("n"), a.integer("rows"), a.integer("add")
	a.SHLQ(operand.Imm(1), ldx)
	p, q, left := a.GP64(), a.GP64(), a.GP64()
	for g := 4; g > 0; g-- {
		label := func(what string) string { return fmt.Sprintf("%s%d", what, g) }
		a.Label(label("columns"))
		a.CMPQ(n, operand.Imm(uint64(16*g)))
		a.JL(to(fmt.Sprintf("columns%d", g-1)))
		acc := a.vectors(l, g*per)
		for _, v := range acc {
			a.clear(l, v)
		}
		a.MOVQ(x, p)
		a.MOVQ(s, q)
		a.MOVQ(rows, left)
		a.Label(label("row"))
		w := l.vector(a)
		a.VBROADCASTSS(operand.Mem{Base: q}, w)
		for i, v := range acc {
			a.VFMADD231PS(a.half(l, operand.Mem{Base: p, Disp: i * l.bits / 16}), w, v)
		}
		a.ADDQ(operand.Imm(4), q)
		a.ADDQ(ldx, p)
		a.DECQ(left)
		a.JNZ(to(label("row")))
		a.TESTQ(add, add)
		a.JZ(to(label("put")))
		for i, v := range acc {
			a.VADDPS(operand.Mem{Base: y, Disp: i * l.bits / 8}, v, v)
		}
		a.Label(label("put"))
		for i, v := range acc {
			a.VMOVUPS(v, operand.Mem{Base: y, Disp: i * l.bits / 8})
		}
		a.ADDQ(operand.U32(uint32(64*g)), y)
		a.ADDQ(operand.U32(uint32(32*g)), x)
		a.SUBQ(operand.Imm(uint64(16*g)), n)
		a.JMP(to(label("columns")))
	}
	a.Label("columns0")
	a.end()
}
