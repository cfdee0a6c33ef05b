package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vec is one vector register.
type vec = reg.VecVirtual

// span writes a function over slices, sixteen floats a step: one 512-bit vector, or two 256-bit ones. What belongs to the same sixteenth of a
// step goes through the same operations on both levels, so their results have the same bits. Elements past the end are read as zero and
// not written.
type span struct {
	*assembler
	level
	base   map[string]reg.GPVirtual
	n      reg.GPVirtual
	at     reg.GPVirtual   // the element that the step starts with
	tail   bool            // the step is the last, shorter one
	bypass bool            // the step is one of those that go past the caches
	outs   []string        // slices that are written past the caches where they are aligned
	ins    map[string]bool // slices that are fetched ahead
	k      reg.OpmaskVirtual
	masks  []vec // for each part
	loops  int
}

// newSpan starts a function name + bits, or name + "Far" + bits for memory beyond the caches. Slices are the parameters named; all have the
// length of the first.
func (a *assembler) newSpan(l level, name, signature, doc string, slices ...string) *span {
	full := fmt.Sprintf("%s%d", name, l.bits)
	if a.far {
		full = fmt.Sprintf("%sFar%d", name, l.bits)
	}
	a.begin(full, signature, full+" "+doc)
	s := &span{assembler: a, level: l, base: map[string]reg.GPVirtual{}}
	for _, p := range slices {
		s.base[p] = a.GP64()
		a.Load(a.Param(p).Base(), s.base[p])
	}
	s.n = a.GP64()
	a.Load(a.Param(slices[0]).Len(), s.n)
	return s
}

// parts is the number of vectors of a step.
func (s *span) parts() int { return 512 / s.bits }

func (s *span) vec() vec { return s.vector(s.assembler) }

// steps writes the loop over whole steps, which leaves the next one's end in the register it returns; body writes one part of a step.
func (s *span) steps(body func(part int)) (next reg.GPVirtual) {
	s.loops++
	s.at, next = s.GP64(), s.GP64()
	s.XORQ(s.at, s.at)
	if len(s.outs) > 0 {
		s.unaligned(s.label("loop"))
	}
	if s.bypass = len(s.outs)+len(s.ins) > 0; s.bypass {
		s.loop("farLoop", next, body)
	}
	if s.bypass = false; len(s.outs) > 0 || len(s.ins) == 0 {
		s.loop("loop", next, body)
	}
	s.Label(s.label("rest"))
	return next
}

func (s *span) loop(name string, next reg.GPVirtual, body func(part int)) {
	s.Label(s.label(name))
	s.LEAQ(operand.Mem{Base: s.at, Disp: 16}, next)
	s.CMPQ(next, s.n)
	s.JG(to(s.label("rest")))
	for p := range s.parts() {
		body(p)
	}
	s.MOVQ(next, s.at)
	s.JMP(to(s.label(name)))
}

// label is a name for a place of the present loop.
func (s *span) label(name string) string { return fmt.Sprintf("%s%d", name, s.loops) }

// each writes the loop over all elements; body writes one part of a step, and of the shorter one that may come last.
func (s *span) each(body func(part int)) {
	next := s.steps(body)
	s.MOVQ(s.n, next)
	s.SUBQ(s.at, next)
	s.JZ(to(s.label("done")))
	if s.bits == 512 {
		s.k = s.K()
		s.bitMask(next, s.GP64(), 0, s.k)
	} else {
		s.masks = s.vectors(s.level, 2)
		s.wordMasks(next, s.masks...)
	}
	s.tail = true
	for p := range s.parts() {
		body(p)
	}
	s.tail = false
	s.Label(s.label("done"))
}

// element is the address of a slice's part of the step.
func (s *span) element(name string, part int) operand.Mem {
	return operand.Mem{Base: s.base[name], Index: s.at, Scale: 4, Disp: 32 * part}
}

func (s *span) load(name string, part int) vec {
	v, m := s.vec(), s.element(name, part)
	if s.bypass && part == 0 && s.ins[name] {
		s.PREFETCHT1(m.Offset(fetchAhead))
	}
	switch {
	case !s.tail:
		s.VMOVUPS(m, v)
	case s.bits == 512:
		s.VMOVUPS_Z(m, s.k, v)
	default:
		s.VMASKMOVPS(m, s.masks[part], v)
	}
	return v
}

func (s *span) store(v vec, name string, part int) {
	m := s.element(name, part)
	switch {
	case s.bypass && slices.Contains(s.outs, name):
		s.VMOVNTPS(v, m)
	case !s.tail:
		s.VMOVUPS(v, m)
	case s.bits == 512:
		s.VMOVUPS(v, s.k, m)
	default:
		s.VMASKMOVPS(v, s.masks[part], m)
	}
}

// only is v where the step has elements, and zero past the end.
func (s *span) only(v vec, part int) vec {
	if !s.tail {
		return v
	}
	t := s.vec()
	if s.bits == 512 {
		s.VMOVAPS_Z(v, s.k, t)
	} else {
		s.VANDPS(s.masks[part], v, t)
	}
	return t
}

// words is sixteen times the same word in memory.
func (a *assembler) words(v uint32) operand.Mem {
	name := fmt.Sprintf("word%08x", v)
	if a.constants == nil {
		a.constants = map[string]operand.Mem{}
	}
	if _, ok := a.constants[name]; !ok {
		a.constants[name] = a.StaticGlobal(name)
		a.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range 16 {
			a.AddDatum(4*i, operand.U32(v))
		}
	}
	return a.constants[name]
}

// number is sixteen times the same float in memory.
func (a *assembler) number(v float64) operand.Mem { return a.words(math.Float32bits(float32(v))) }

// constant is a register of sixteenths of the same float.
func (s *span) constant(v float64) vec {
	t := s.vec()
	s.VMOVUPS(s.number(v), t)
	return t
}

// scalar is a float parameter in every element of a register.
func (s *span) scalar(name string) vec {
	b, err := s.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	v := s.vec()
	s.VBROADCASTSS(b.Addr, v)
	return v
}

func (s *span) zero() vec {
	v := s.vec()
	s.clear(s.level, v)
	return v
}

func (s *span) zeros(n int) []vec {
	v := make([]vec, n)
	for i := range v {
		v[i] = s.zero()
	}
	return v
}

// Arithmetic makes a new register, except that fma and its kin overwrite what is added to.

func (s *span) add(x, y operand.Op) vec { v := s.vec(); s.VADDPS(y, x, v); return v }
func (s *span) sub(x, y operand.Op) vec { v := s.vec(); s.VSUBPS(y, x, v); return v }
func (s *span) mul(x, y operand.Op) vec { v := s.vec(); s.VMULPS(y, x, v); return v }
func (s *span) div(x, y operand.Op) vec { v := s.vec(); s.VDIVPS(y, x, v); return v }

// fma is sum += x y.
func (s *span) fma(sum vec, x, y operand.Op) { s.VFMADD231PS(y, x, sum) }

// horner is p = p x + c.
func (s *span) horner(p, x vec, c operand.Op) { s.VFMADD213PS(c, x, p) }

// fold adds up sixteen lanes, by halves, into the low element of the first vector.
func (s *span) fold(acc []vec, op func(y, x, to operand.Op)) vec {
	t := s.YMM()
	low := acc[0].AsY()
	if len(acc) == 2 {
		op(acc[1], low, low)
	} else {
		s.VEXTRACTF64X4(operand.Imm(1), acc[0], t)
		op(t, low, low)
	}
	x := acc[0].AsX()
	s.VEXTRACTF128(operand.Imm(1), low, t.AsX())
	op(t.AsX(), x, x)
	s.VPERMILPS(operand.Imm(0x4e), x, t.AsX())
	op(t.AsX(), x, x)
	s.VPERMILPS(operand.Imm(0xb1), x, t.AsX())
	op(t.AsX(), x, x)
	return acc[0]
}

func (s *span) sum(acc []vec) vec {
	return s.fold(acc, func(y, x, to operand.Op) { s.VADDPS(y, x, to) })
}

// result stores the low element of v as result i, a float32 or a float64.
func (s *span) result(v vec, i int) {
	b, err := s.ReturnIndex(i).Resolve()
	if err != nil {
		panic(err)
	}
	if b.Type.Name() == "float64" {
		s.VMOVSD(v.AsX(), b.Addr)
		return
	}
	s.VMOVSS(v.AsX(), b.Addr)
}
