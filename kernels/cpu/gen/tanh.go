package main

import (
	"github.com/mmcloughlin/avo/operand"
)

// tanhs writes what a row of DyT goes through.
func tanhs(a *assembler) {
	for _, l := range levels {
		for _, a.far = range []bool{false, true} {
			a.dyt(l)
		}
	}
}

// tanh is tanh u, odd and within [-1, 1]: near 0 the polynomial of Cephes' tanhf (Moshier), elsewhere 1 - 2/(e²ᵘ + 1), which would cancel
// there.
func (s *span) tanh(u vec) vec {
	size, sign := s.vec(), s.vec()
	s.VANDPS(s.words(1<<31-1), u, size)
	s.VANDPS(s.words(1<<31), u, sign)
	far := s.div(s.constant(2), s.logistic(s.add(size, size)))
	far = s.sub(s.constant(1), far)
	s.VORPS(sign, far, far)
	z := s.mul(u, u)
	near := s.constant(-5.70498872745e-3)
	for _, c := range []float64{2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1} {
		s.horner(near, z, s.number(c))
	}
	s.VMULPS(z, near, near)
	s.VFMADD213PS(u, u, near)
	if s.bits == 512 {
		k := s.K()
		s.VCMPPS(operand.Imm(1), s.number(0.625), size, k) // less
		s.VMOVAPS(near, k, far)
		return far
	}
	m := s.vec()
	s.VCMPPS(operand.Imm(1), s.number(0.625), size, m)
	s.VBLENDVPS(m, near, far, far)
	return far
}

func (a *assembler) dyt(l level) {
	s := a.newSpan(l, "dyt", "func(y, x, gain, bias []float32, alpha float32)", "is y = gain tanh(alpha x) + bias.", "y", "x", "gain", "bias")
	s.beyond(out("y"), in("x"))
	alpha := s.scalar("alpha")
	s.each(func(p int) {
		h := s.tanh(s.mul(s.load("x", p), alpha))
		s.horner(h, s.load("gain", p), s.load("bias", p))
		s.store(h, "y", p)
	})
	a.end()

	s = a.newSpan(l, "dytGrad", "func(dx, dgain, dbias, x, gain, dy []float32, alpha float32) float32",
		"is, with h = tanh(alpha x) and s = dy gain (1 - h²): dx = alpha s, dgain += dy h, dbias += dy, and returns the sum of s x.",
		"dx", "dgain", "dbias", "x", "gain", "dy")
	s.beyond(out("dx"), in("x", "dy"))
	alpha = s.scalar("alpha")
	acc := s.zeros(s.parts())
	s.each(func(p int) {
		x := s.load("x", p)
		h := s.tanh(s.mul(x, alpha))
		dy := s.load("dy", p)
		dgain := s.load("dgain", p)
		s.fma(dgain, h, dy)
		s.store(dgain, "dgain", p)
		s.store(s.add(s.load("dbias", p), dy), "dbias", p)
		one := s.constant(1)
		bend := s.mul(s.sub(one, h), s.add(one, h))
		slope := s.mul(s.mul(dy, s.load("gain", p)), bend)
		s.store(s.mul(slope, alpha), "dx", p)
		s.fma(acc[p], s.only(slope, p), x)
	})
	s.result(s.sum(acc), 0)
	a.end()
}
