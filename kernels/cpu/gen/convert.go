package main

import (
	"github.com/mmcloughlin/avo/operand"
)

// half is the address of a part of the step in a slice of 16-bit elements.
func (s *span) half(name string, part int) operand.Mem {
	return operand.Mem{Base: s.base[name], Index: s.at, Scale: 2, Disp: 16 * part}
}

// converts writes the changes between float32 and bfloat16, by integers: the instruction that converts takes small numbers for zero. Only whole
// steps are treated, because 256-bit vectors have no masks for words.
func (a *assembler) converts(l level) {
	s := a.newSpan(l, "narrow", "func(y []uint16, x []float32)", "is y = x as bfloat16, rounded to the nearest and to even; lengths are multiples of 16.", "y", "x")
	s.steps(func(p int) { s.narrow(s.load("x", p), p) })
	a.end()

	s = a.newSpan(l, "widen", "func(y []float32, x []uint16)", "is y = x, which is bfloat16; lengths are multiples of 16.", "y", "x")
	s.steps(func(p int) {
		v := s.vec()
		s.VPMOVZXWD(s.half("x", p), v)
		s.VPSLLD(operand.Imm(16), v, v)
		s.store(v, "y", p)
	})
	a.end()
}

// narrow adds just under half of the last place that stays, and one more where that is odd; a NaN keeps its upper half and becomes quiet.
func (s *span) narrow(x vec, part int) {
	high, odd := s.vec(), s.vec()
	s.VPSRLD(operand.Imm(16), x, high)
	if s.bits == 512 {
		s.VPANDD(s.words(1), high, odd)
	} else {
		s.VPAND(s.words(1), high, odd)
	}
	s.VPADDD(x, odd, odd)
	s.VPADDD(s.words(0x7fff), odd, odd)
	rounded := odd
	s.VPSRLD(operand.Imm(16), rounded, rounded)
	if s.bits == 512 {
		nan := s.K()
		s.VCMPPS(operand.Imm(3), x, x, nan)
		s.VPORD(s.words(0x40), high, nan, rounded)
		s.VPMOVDW(rounded, s.half("y", part))
		return
	}
	nan, upper := s.vec(), s.XMM()
	s.VCMPPS(operand.Imm(3), x, x, nan)
	s.VPOR(s.words(0x40), high, high)
	s.VBLENDVPS(nan, high, rounded, rounded)
	s.VEXTRACTI128(operand.Imm(1), rounded, upper)
	s.VPACKUSDW(upper, rounded.AsX(), rounded.AsX())
	s.VMOVDQU(rounded.AsX(), s.half("y", part))
}
