package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// assembler is avo's context with what this generator needs often.
type assembler struct {
	*build.Context
	masks     operand.Mem // see maskTable
	constants map[string]operand.Mem
	far       bool // functions are for memory beyond the caches
}

// begin starts a function that keeps nothing of what its pointers point to.
func (a *assembler) begin(name, signature string, doc ...string) {
	a.Function(name)
	a.Attributes(attr.NOSPLIT)
	a.SignatureExpr(signature)
	a.Doc(doc...)
	a.Pragma("noescape")
}

// end returns to Go.
func (a *assembler) end() {
	a.VZEROUPPER()
	a.RET()
}

// integer loads a parameter into a register.
func (a *assembler) integer(name string) reg.GPVirtual {
	r := a.GP64()
	a.Load(a.Param(name), r)
	return r
}

// stride loads a distance in floats and turns it into bytes.
func (a *assembler) stride(name string) reg.GPVirtual {
	r := a.integer(name)
	a.SHLQ(operand.Imm(2), r)
	return r
}

// times3 is a register with three times r.
func (a *assembler) times3(r reg.Register) reg.GPVirtual {
	t := a.GP64()
	a.LEAQ(operand.Mem{Base: r, Index: r, Scale: 2}, t)
	return t
}

// step is the address p + i·stride + disp for i from 0 to 3; stride3 holds three strides.
func step(p reg.Register, stride, stride3 reg.Register, i, disp int) operand.Mem {
	m := operand.Mem{Base: p, Disp: disp}
	switch i {
	case 1, 2:
		m.Index, m.Scale = stride, uint8(i)
	case 3:
		m.Index, m.Scale = stride3, 1
	}
	return m
}

// jump targets of the function being written.
func to(label string) operand.LabelRef { return operand.LabelRef(label) }

// maskTable is the address of 32 set words and then 32 clear ones: from word 32-n on, the first n words are set.
func (a *assembler) maskTable() operand.Mem {
	if a.masks.Base == nil {
		a.masks = a.StaticGlobal("masks")
		a.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range 64 {
			v := uint32(0)
			if i < 32 {
				v = 1<<32 - 1
			}
			a.AddDatum(4*i, operand.U32(v))
		}
	}
	return a.masks
}

// wordMasks loads masks for the first n of 8·len(masks) floats.
func (a *assembler) wordMasks(n reg.Register, masks ...reg.VecVirtual) {
	at, back := a.GP64(), a.GP64()
	a.LEAQ(a.maskTable(), at)
	a.MOVQ(n, back)
	a.NEGQ(back)
	for i, m := range masks {
		a.VMOVUPS(operand.Mem{Base: at, Index: back, Scale: 4, Disp: 128 + 32*i}, m)
	}
}

// bitMask sets k to the bits from … from+15 of a mask of n ones; spare is overwritten.
func (a *assembler) bitMask(n, spare reg.GPVirtual, from int, k reg.OpmaskVirtual) {
	a.MOVQ(operand.I32(-1), spare)
	a.BZHIQ(n, spare, spare)
	if from > 0 {
		a.SHRQ(operand.Imm(uint64(from)), spare)
	}
	a.KMOVW(spare.As32(), k)
}
