package main

import (
	"github.com/mmcloughlin/avo/operand"
)

// norms writes what a row of a norm goes through.
func (a *assembler) norms(l level) {
	a.sums(l)

	s := a.newSpan(l, "rmsRow", "func(y, x, gain []float32, r, unit float32)", "is y = x r (unit + gain).", "y", "x", "gain")
	s.beyond(out("y"), nil)
	r, unit := s.scalar("r"), s.scalar("unit")
	row := func(x vec, p int) { s.store(s.mul(s.mul(x, r), s.add(s.load("gain", p), unit)), "y", p) }
	s.each(func(p int) { row(s.load("x", p), p) })
	a.end()

	s = a.newSpan(l, "rmsAddRow", "func(y, z, x, past, gain []float32, r, unit float32)", "is z = x + past, y = z r (unit + gain); z may be x.", "y", "z", "x", "past", "gain")
	s.beyond(out("y", "z"), nil)
	r, unit = s.scalar("r"), s.scalar("unit")
	s.each(func(p int) { row(s.addPast(p), p) })
	a.end()

	s = a.newSpan(l, "rmsGradRow", "func(dx, dgain, x, gain, dy []float32, r, unit float32) float32",
		"is dx = (unit + gain) dy, dgain += dy x r, and returns the sum of dx x.", "dx", "dgain", "x", "gain", "dy")
	s.beyond(nil, in("x", "dy"))
	r, unit = s.scalar("r"), s.scalar("unit")
	acc := s.zeros(s.parts())
	s.each(func(p int) {
		x, dy := s.load("x", p), s.load("dy", p)
		dgain := s.load("dgain", p)
		s.fma(dgain, s.mul(x, r), dy)
		s.store(dgain, "dgain", p)
		h := s.mul(s.add(s.load("gain", p), unit), dy)
		s.store(h, "dx", p)
		s.fma(acc[p], h, x)
	})
	s.result(s.sum(acc), 0)
	a.end()

	s = a.newSpan(l, "rmsGradEnd", "func(dx, h, x []float32, r, m float32)", "is dx = r (h - x m); dx may be h.", "dx", "h", "x")
	s.beyond(out("dx"), nil)
	s.rmsGradEnd(false)
	s = a.newSpan(l, "rmsGradAdd", "func(dx, h, x, past []float32, r, m float32)", "is dx = r (h - x m) + past; dx may be past.", "dx", "h", "x", "past")
	s.beyond(out("dx"), in("past"))
	s.rmsGradEnd(true)
	a.layerNorm(l)
}

// addPast stores z = x + past.
func (s *span) addPast(part int) vec {
	z := s.add(s.load("x", part), s.load("past", part))
	s.store(z, "z", part)
	return z
}

// rmsGradEnd writes the end of a gradient, with the past added or without.
func (s *span) rmsGradEnd(past bool) {
	r, m := s.scalar("r"), s.scalar("m")
	s.each(func(p int) {
		d := s.load("h", p)
		s.VFNMADD231PS(s.load("x", p), m, d)
		s.storeGrad(s.mul(d, r), past, p)
	})
	s.end()
}

// storeGrad stores a part of dx, with the past added or without.
func (s *span) storeGrad(d vec, past bool, part int) {
	if past {
		d = s.add(d, s.load("past", part))
	}
	s.store(d, "dx", part)
}

func (a *assembler) layerNorm(l level) {
	s := a.newSpan(l, "layerRow", "func(y, x, gain, bias []float32, mean, r, unit float32)", "is y = (x - mean) r (unit + gain) + bias.", "y", "x", "gain", "bias")
	s.beyond(out("y"), nil)
	mean, r, unit := s.scalar("mean"), s.scalar("r"), s.scalar("unit")
	row := func(x vec, p int) {
		h := s.mul(s.sub(x, mean), r)
		s.horner(h, s.add(s.load("gain", p), unit), s.load("bias", p))
		s.store(h, "y", p)
	}
	s.each(func(p int) { row(s.load("x", p), p) })
	a.end()

	s = a.newSpan(l, "layerAddRow", "func(y, z, x, past, gain, bias []float32, mean, r, unit float32)", "is z = x + past, y = (z - mean) r (unit + gain) + bias; z may be x.", "y", "z", "x", "past", "gain", "bias")
	s.beyond(out("y", "z"), nil)
	mean, r, unit = s.scalar("mean"), s.scalar("r"), s.scalar("unit")
	s.each(func(p int) { row(s.addPast(p), p) })
	a.end()

	s = a.newSpan(l, "layerGradRow", "func(dx, dgain, dbias, x, gain, dy []float32, mean, r, unit float32) (sum, sumH float32)",
		"is dx = (unit + gain) dy, dgain += dy h, dbias += dy for h = (x - mean) r, and returns the sums of dx and dx h.", "dx", "dgain", "dbias", "x", "gain", "dy")
	s.beyond(nil, in("x", "dy"))
	mean, r, unit = s.scalar("mean"), s.scalar("r"), s.scalar("unit")
	acc, accH := s.zeros(s.parts()), s.zeros(s.parts())
	s.each(func(p int) {
		dy := s.load("dy", p)
		h := s.mul(s.sub(s.load("x", p), mean), r)
		dgain := s.load("dgain", p)
		s.fma(dgain, h, dy)
		s.store(dgain, "dgain", p)
		s.store(s.add(s.load("dbias", p), dy), "dbias", p)
		v := s.mul(s.add(s.load("gain", p), unit), dy)
		s.store(v, "dx", p)
		s.VADDPS(s.only(v, p), acc[p], acc[p])
		s.fma(accH[p], s.only(v, p), h)
	})
	s.result(s.sum(acc), 0)
	s.result(s.sum(accH), 1)
	a.end()

	s = a.newSpan(l, "layerGradEnd", "func(dx, v, x []float32, mean, r, m, mh float32)", "is dx = r (v - m - h mh) for h = (x - mean) r; dx may be v.", "dx", "v", "x")
	s.beyond(out("dx"), nil)
	s.layerGradEnd(false)
	s = a.newSpan(l, "layerGradAdd", "func(dx, v, x, past []float32, mean, r, m, mh float32)", "is dx = r (v - m - h mh) + past for h = (x - mean) r; dx may be past.", "dx", "v", "x", "past")
	s.beyond(out("dx"), in("past"))
	s.layerGradEnd(true)
}

// layerGradEnd is as rmsGradEnd.
func (s *span) layerGradEnd(past bool) {
	mean, r := s.scalar("mean"), s.scalar("r")
	m, mh := s.scalar("m"), s.scalar("mh")
	s.each(func(p int) {
		h := s.mul(s.sub(s.load("x", p), mean), r)
		d := s.sub(s.load("v", p), m)
		s.VFNMADD231PS(h, mh, d)
		s.storeGrad(s.mul(d, r), past, p)
	})
	s.end()
}

// sums adds in float64, in sixteen lanes.
func (a *assembler) sums(l level) {
	s := a.newSpan(l, "sums", "func(x []float32) (sum, squares float64)", "is the sum of the elements and that of their squares.", "x")
	s.beyond(nil, in("x"))
	s.sums(func(p int) vec { return s.load("x", p) })

	s = a.newSpan(l, "addSums", "func(x, past []float32) (sum, squares float64)", "is as sums, of x + past.", "x", "past")
	s.beyond(nil, in("x", "past"))
	s.sums(func(p int) vec { return s.add(s.load("x", p), s.load("past", p)) })
}

// sums writes the sums of what element makes.
func (s *span) sums(element func(part int) vec) {
	lanes := 1024 / s.bits // vectors of sixteen doubles
	acc, squares := s.zeros(lanes), s.zeros(lanes)
	s.each(func(p int) {
		x := element(p)
		low, high := s.vec(), s.vec()
		if s.bits == 512 {
			half := s.YMM()
			s.VEXTRACTF64X4(operand.Imm(1), x, half)
			s.VCVTPS2PD(half, high)
			s.VCVTPS2PD(x.AsY(), low)
		} else {
			half := s.XMM()
			s.VEXTRACTF128(operand.Imm(1), x, half)
			s.VCVTPS2PD(half, high)
			s.VCVTPS2PD(x.AsX(), low)
		}
		for i, v := range []vec{low, high} {
			s.VADDPD(v, acc[2*p+i], acc[2*p+i])
			s.VFMADD231PD(v, v, squares[2*p+i])
		}
	})
	s.result(s.foldDoubles(acc), 0)
	s.result(s.foldDoubles(squares), 1)
	s.end()
}

// foldDoubles adds up sixteen lanes of doubles, by halves, into the low element of the first vector.
func (s *span) foldDoubles(acc []vec) vec {
	half := len(acc) / 2
	for i := range half {
		s.VADDPD(acc[half+i], acc[i], acc[i])
	}
	low, t := acc[0].AsY(), s.YMM()
	if half == 2 {
		s.VADDPD(acc[1], low, low)
	} else {
		s.VEXTRACTF64X4(operand.Imm(1), acc[0], t)
		s.VADDPD(t, low, low)
	}
	x := acc[0].AsX()
	s.VEXTRACTF128(operand.Imm(1), low, t.AsX())
	s.VADDPD(t.AsX(), x, x)
	s.VPERMILPD(operand.Imm(1), x, t.AsX())
	s.VADDPD(t.AsX(), x, x)
	return acc[0]
}
