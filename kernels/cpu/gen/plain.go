package main

import (
	"github.com/mmcloughlin/avo/operand"
)

func (a *assembler) plain(l level) {
	s := a.newSpan(l, "add", "func(z, x, y []float32)", "is z = x + y; z may be either.", "z", "x", "y")
	s.beyond(out("z"), in("x", "y"))
	s.each(func(p int) { s.store(s.add(s.load("x", p), s.load("y", p)), "z", p) })
	a.end()

	s = a.newSpan(l, "move", "func(y, x []float32)", "is y = x.", "y", "x")
	s.beyond(out("y"), nil)
	s.each(func(p int) { s.store(s.load("x", p), "y", p) })
	a.end()

	s = a.newSpan(l, "addRow", "func(y, x, row []float32)", "is y = x + row; y may be x.", "y", "x", "row")
	s.beyond(out("y"), in("x"))
	s.each(func(p int) { s.store(s.add(s.load("x", p), s.load("row", p)), "y", p) })
	a.end()

	s = a.newSpan(l, "multiply", "func(y, x []float32, factor float32)", "is y = factor x; y may be x.", "y", "x")
	s.beyond(out("y"), in("x"))
	factor := s.scalar("factor")
	s.each(func(p int) { s.store(s.mul(s.load("x", p), factor), "y", p) })
	a.end()

	s = a.newSpan(l, "fill", "func(y []float32, value float32)", "is y = value.", "y")
	s.beyond(out("y"), nil)
	value := s.scalar("value")
	s.each(func(p int) { s.store(value, "y", p) })
	a.end()

	a.rotate(l)
}

// addTo has no twin for memory beyond the caches, and neither has adamw: both took as long with their reads fetched ahead.
func (a *assembler) addTo(l level) {
	s := a.newSpan(l, "addTo", "func(sum, x []float32)", "is sum += x.", "sum", "x")
	s.each(func(p int) { s.store(s.add(s.load("sum", p), s.load("x", p)), "sum", p) })
	a.end()
}

func (a *assembler) adamw(l level) {
	s := a.newSpan(l, "adamw", "func(newP, newM, newV, p, m, v, g []float32, beta1, rest1, beta2, rest2, clip, keep, step, root, eps float32)",
		"is g *= clip, m = beta1 m + rest1 g, v = beta2 v + rest2 g², p = keep p - step m/(root sqrt(v) + eps).", "newP", "newM", "newV", "p", "m", "v", "g")
	beta1, rest1, beta2, rest2, clip := s.scalar("beta1"), s.scalar("rest1"), s.scalar("beta2"), s.scalar("rest2"), s.scalar("clip")
	keep, step, root, eps := s.scalar("keep"), s.scalar("step"), s.scalar("root"), s.scalar("eps")
	s.each(func(p int) {
		g := s.mul(s.load("g", p), clip)
		m := s.mul(s.load("m", p), beta1)
		s.fma(m, g, rest1)
		s.store(m, "newM", p)
		s.VMULPS(g, g, g)
		v := s.mul(s.load("v", p), beta2)
		s.fma(v, g, rest2)
		s.store(v, "newV", p)
		s.VSQRTPS(v, v)
		s.horner(v, root, eps)
		s.VMULPS(step, m, m)
		s.VDIVPS(v, m, m)
		x := s.load("p", p)
		s.VFMSUB213PS(m, keep, x)
		s.store(x, "newP", p)
	})
	a.end()
}

func (a *assembler) rotate(l level) {
	s := a.newSpan(l, "rotate", "func(cosine, sine, y, x []float32, sign float32)",
		"turns the two halves of each head of x, each half as long as cosine, by angles of the given sign; y may be x and has whole heads.", "cosine", "sine", "y", "x")
	s.beyond(out("y", "yHigh"), in("x", "xHigh"))
	for _, name := range []string{"y", "x"} {
		high := s.GP64()
		s.LEAQ(operand.Mem{Base: s.base[name], Index: s.n, Scale: 4}, high)
		s.base[name+"High"] = high
	}
	sign := s.scalar("sign")
	rest, half := s.GP64(), s.GP64()
	s.Load(s.Param("y").Len(), rest)
	s.MOVQ(s.n, half)
	s.SHLQ(operand.Imm(1), half)
	s.SUBQ(half, rest)
	s.JL(to("end"))
	s.SHLQ(operand.Imm(2), half)
	s.Label("head")
	s.each(func(p int) {
		c, sine := s.load("cosine", p), s.mul(s.load("sine", p), sign)
		x, high := s.load("x", p), s.load("xHigh", p)
		y, yHigh := s.mul(x, c), s.mul(high, c)
		s.VFNMADD231PS(sine, high, y)
		s.VFMADD231PS(sine, x, yHigh)
		s.store(y, "y", p)
		s.store(yHigh, "yHigh", p)
	})
	for _, name := range []string{"y", "yHigh", "x", "xHigh"} {
		s.ADDQ(half, s.base[name])
	}
	elements := s.GP64()
	s.MOVQ(half, elements)
	s.SHRQ(operand.Imm(2), elements)
	s.SUBQ(elements, rest)
	s.JGE(to("head"))
	s.Label("end")
	a.end()
}

// finite looks at exponents: one of all ones carries into the top bit when one is added.
func (a *assembler) finite(l level) {
	s := a.newSpan(l, "allFinite", "func(x []float32, ld, rows, cols int) bool", "says whether rows of x, ld apart, hold neither NaN nor infinity.", "x")
	ld, rows := s.stride("ld"), s.integer("rows")
	s.n = s.integer("cols")
	acc := s.zeros(s.parts())
	s.TESTQ(rows, rows)
	s.JLE(to("end"))
	s.Label("row")
	s.each(func(p int) {
		x := s.load("x", p)
		if s.bits == 512 {
			s.VPANDD(s.words(0x7f800000), x, x)
			s.VPADDD(s.words(1<<23), x, x)
			s.VPORD(x, acc[p], acc[p])
			return
		}
		s.VPAND(s.words(0x7f800000), x, x)
		s.VPADDD(s.words(1<<23), x, x)
		s.VPOR(x, acc[p], acc[p])
	})
	s.ADDQ(ld, s.base["x"])
	s.DECQ(rows)
	s.JNZ(to("row"))
	s.Label("end")
	bits, fine := s.GP32(), s.GP8()
	if s.bits == 512 {
		k := s.K()
		s.VPMOVD2M(acc[0], k)
		s.KMOVW(k, bits)
	} else {
		s.VPOR(acc[1], acc[0], acc[0])
		s.VMOVMSKPS(acc[0], bits)
	}
	s.TESTL(bits, bits)
	s.SETEQ(fine)
	s.Store(fine, s.ReturnIndex(0))
	a.end()
}
