package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// Range of arguments whose exponential is a normal number; below it the result is 0.
const (
	expMin = -86.9
	expTop = 89 // rounds to infinity
	magic  = 3 << 22
)

// exp is eˣ: range reduction to |r| <= ln(2)/2 by n = round(x log2 e), and the polynomial of Cephes' expf (Moshier), its coefficients
// doubled because 2^(n-1) is what always has a normal exponent.
func (s *span) exp(x vec) vec {
	d := s.constant(expTop)
	s.VMINPS(x, d, d) // in this order NaN stays
	low := s.constant(expMin)
	s.VMAXPS(d, low, d)
	t := s.constant(magic)
	s.VFMADD231PS(s.number(math.Log2E), d, t)
	n := s.sub(t, s.number(magic))
	s.VFNMADD231PS(s.number(0.693359375), n, d)
	s.VFNMADD231PS(s.number(-2.12194440e-4), n, d)
	p := s.constant(2 * 1.9875691500e-4)
	for _, c := range []float64{1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1, 1, 1} {
		s.horner(p, d, s.number(2*c))
	}
	s.VPSLLD(operand.Imm(23), t, t)
	if s.bits == 512 {
		s.VPADDD(s.words(126<<23), t, t)
		k := s.K()
		s.VCMPPS(operand.Imm(5), s.number(expMin), x, k) // not less
		s.VMULPS_Z(t, p, k, p)
		return p
	}
	s.VPADDD(s.words(126<<23), t, t)
	s.VMULPS(t, p, p)
	m := s.vec()
	s.VCMPPS(operand.Imm(5), s.number(expMin), x, m)
	s.VANDPS(m, p, p)
	return p
}

// logistic is 1 + e⁻ᶻ, of which the sigmoid is the reciprocal; minus is -z.
func (s *span) logistic(minus vec) vec { return s.add(s.exp(minus), s.number(1)) }

// curve is an activation x sigmoid(z(x)).
type curve struct {
	name  string
	minus func(s *span, x vec) vec // -z
	inner func(s *span, x vec) vec // x z'(x), finite for every x
}

// The tanh of GELU is written as a sigmoid, 0.5 (1 + tanh u) = sigmoid(2u).
const (
	gelu1 = 2 * 0.7978845608028654 // 2 sqrt(2/π)
	gelu3 = 0.044715
)

var curveList = []curve{
	{"gelu", func(s *span, x vec) vec {
		t := s.mul(x, x)
		s.horner(t, s.constant(-gelu1*gelu3), s.number(-gelu1))
		return s.mul(t, x)
	}, func(s *span, x vec) vec {
		near := s.constant(100) // beyond, the factor with this one is 0
		s.VMINPS(x, near, near)
		low := s.constant(-100)
		s.VMAXPS(near, low, near)
		t := s.mul(near, near)
		s.horner(t, s.constant(3*gelu1*gelu3), s.number(gelu1))
		return s.mul(t, near)
	}},
	{"silu", func(s *span, x vec) vec { return s.sub(s.zero(), x) }, func(_ *span, x vec) vec { return x }},
}

// slope is the activation and its derivative: with g = sigmoid(z), y = x g and d = g + g (1 - g) x z', where 1 - g = e⁻ᶻ g does not cancel.
// Whatever x is not finite shows in d.
func (c curve) slope(s *span, x vec) (y, d vec) {
	e := s.exp(c.minus(s, x))
	sigmoid := s.div(s.constant(1), s.add(e, s.number(1)))
	y = s.mul(x, sigmoid)
	s.VMINPS(s.number(1e30), e, e) // or infinity would meet a zero
	bend := s.mul(s.mul(e, sigmoid), sigmoid)
	d = s.sub(x, x)
	s.VADDPS(sigmoid, d, d)
	s.fma(d, c.inner(s, x), bend)
	return y, d
}

func (a *assembler) curve(l level, c curve) {
	s := a.newSpan(l, c.name, "func(y, x []float32)", "is y = f(x).", "y", "x")
	s.beyond(out("y"), in("x"))
	s.each(func(p int) {
		x := s.load("x", p)
		s.store(s.div(x, s.logistic(c.minus(s, x))), "y", p)
	})
	a.end()
	s = a.newSpan(l, c.name+"Grad", "func(dx, x, dy []float32)", "is dx = f'(x) dy; dx may be dy.", "dx", "x", "dy")
	s.beyond(out("dx"), in("x", "dy"))
	s.each(func(p int) {
		_, d := c.slope(s, s.load("x", p))
		s.store(s.mul(d, s.load("dy", p)), "dx", p)
	})
	a.end()
	s = a.newSpan(l, c.name+"Gate", "func(y, gate, up []float32)", "is y = f(gate) up.", "y", "gate", "up")
	s.beyond(out("y"), in("gate", "up"))
	s.each(func(p int) {
		x := s.load("gate", p)
		s.store(s.mul(s.div(x, s.logistic(c.minus(s, x))), s.load("up", p)), "y", p)
	})
	a.end()
	s = a.newSpan(l, c.name+"GateGrad", "func(dgate, dup, gate, up, dy []float32)", "is dgate = f'(gate) up dy, dup = f(gate) dy.", "dgate", "dup", "gate", "up", "dy")
	s.beyond(out("dgate", "dup"), in("gate", "up", "dy"))
	s.each(func(p int) {
		y, d := c.slope(s, s.load("gate", p))
		dy := s.load("dy", p)
		s.store(s.mul(y, dy), "dup", p)
		s.store(s.mul(d, s.mul(dy, s.load("up", p))), "dgate", p)
	})
	a.end()
}

// softmax writes what a row of scores goes through.
func (a *assembler) softmax(l level) {
	s := a.newSpan(l, "maximum", "func(x []float32) float32", "is the largest element, -Inf of none. It may pass over NaN.", "x")
	acc := make([]vec, s.parts())
	for i := range acc {
		acc[i] = s.constant(math.Inf(-1))
	}
	s.each(func(p int) {
		x := s.load("x", p)
		if s.tail && s.bits == 512 {
			s.VMAXPS(acc[p], x, s.k, acc[p])
			return
		}
		if s.tail {
			low := s.constant(math.Inf(-1))
			s.VBLENDVPS(s.masks[p], x, low, x)
		}
		s.VMAXPS(acc[p], x, acc[p])
	})
	s.result(s.fold(acc, func(y, x, to operand.Op) { s.VMAXPS(y, x, to) }), 0)
	a.end()

	s = a.newSpan(l, "expSum", "func(y, x []float32, shift float32) float32", "is y = exp(x - shift) and returns the sum; y may be x.", "y", "x")
	shift := s.scalar("shift")
	acc = s.zeros(s.parts())
	s.each(func(p int) {
		e := s.exp(s.sub(s.load("x", p), shift))
		s.store(e, "y", p)
		s.VADDPS(s.only(e, p), acc[p], acc[p])
	})
	s.result(s.sum(acc), 0)
	a.end()

	s = a.newSpan(l, "slopes", "func(s, ds []float32, lse, total, scale float32)", "is s = exp(s - lse), ds = s (ds - total) scale.", "s", "ds")
	lse, total, scale := s.scalar("lse"), s.scalar("total"), s.scalar("scale")
	s.each(func(p int) {
		e := s.exp(s.sub(s.load("s", p), lse))
		s.store(e, "s", p)
		s.store(s.mul(s.mul(e, s.sub(s.load("ds", p), total)), scale), "ds", p)
	})
	a.end()
}
