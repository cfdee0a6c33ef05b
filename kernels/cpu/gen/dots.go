package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const dotsSignature = "func(y *float32, x *float32, w *float32, ldw int, k int, n int, add int)"

var dotsDoc = []string{"is y[j] = x · w[j] for n rows w of k elements, or y += with add. Element p is added to lane p%16, and the lanes are then",
	"folded in halves."}

// dotsWriter writes dot products of several rows at once. A row's sixteen lanes are in one or two vectors.
type dotsWriter struct {
	*assembler
	level
	y, x, w, ldw, ldw3 reg.GPVirtual
	k, n, add          reg.GPVirtual // add is nil where nothing is added to
	scales, lds, lds3  reg.GPVirtual // of stored weights
	xv, tail, spare    []reg.VecVirtual
	bits16             reg.OpmaskVirtual
}

func (a *assembler) dots512() { a.dots("dots512", level{bits: 512}, 8) }
func (a *assembler) dots256() { a.dots("dots256", level{bits: 256}, 4) }

func (a *assembler) dots(name string, l level, group int) {
	a.begin(name, dotsSignature, append([]string{name + " " + dotsDoc[0]}, dotsDoc[1:]...)...)
	d := &dotsWriter{assembler: a, level: l}
	per := 512 / l.bits
	d.y, d.x, d.w, d.ldw = a.integer("y"), a.integer("x"), a.integer("w"), a.stride("ldw")
	d.k, d.n, d.add = a.integer("k"), a.integer("n"), a.integer("add")
	d.ldw3 = a.times3(d.ldw)
	d.xv = a.vectors(l, per)
	left := a.GP64()
	a.MOVQ(d.k, left)
	a.ANDQ(operand.Imm(15), left)
	if l.bits == 512 {
		d.bits16 = a.K()
		a.bitMask(left, a.GP64(), 0, d.bits16)
	} else {
		d.tail, d.spare = a.vectors(l, per), a.vectors(l, per)
		a.wordMasks(left, d.tail...)
	}
	length := a.GP64() // rows without gaps are one stream, which memory serves best
	a.MOVQ(d.k, length)
	a.SHLQ(operand.Imm(2), length)
	a.CMPQ(length, d.ldw)
	a.JE(to("one"))
	d.rows("many", group, "one")
	d.rows("one", 1, "done")
	a.Label("done")
	a.end()
}

// rows writes a loop over groups of rows; it leaves for the label next when fewer are left.
func (d *dotsWriter) rows(label string, group int, next string) {
	per := len(d.xv)
	d.Label(label)
	d.CMPQ(d.n, operand.Imm(uint64(group)))
	d.JL(to(next))
	acc := d.vectors(d.level, group*per)
	for _, v := range acc {
		d.clear(d.level, v)
	}
	x, count := d.GP64(), d.GP64()
	d.MOVQ(d.x, x)
	d.MOVQ(d.k, count)
	p := []reg.Register{d.GP64()}
	d.MOVQ(d.w, p[0])
	if group > 4 {
		p = append(p, d.GP64())
		d.LEAQ(operand.Mem{Base: d.w, Index: d.ldw, Scale: 4}, p[1])
	}
	address := func(i, part int) operand.Mem { return step(p[i/4], d.ldw, d.ldw3, i%4, part*d.bits/8) }
	ahead := d.ahead(p, group)
	d.SUBQ(operand.Imm(16), count)
	d.JL(to(label + "Rest"))
	d.Label(label + "Loop")
	for i := range group * min(1, len(ahead)) {
		d.PREFETCHT1(step(ahead[i/4], d.ldw, d.ldw3, i%4, 0))
	}
	for part, v := range d.xv {
		d.VMOVUPS(operand.Mem{Base: x, Disp: part * d.bits / 8}, v)
		for i := range group {
			d.VFMADD231PS(address(i, part), v, acc[i*per+part])
		}
	}
	d.ADDQ(operand.Imm(64), x)
	for _, q := range append(p, ahead...) {
		d.ADDQ(operand.Imm(64), q)
	}
	d.SUBQ(operand.Imm(16), count)
	d.JGE(to(label + "Loop"))
	d.Label(label + "Rest")
	d.ADDQ(operand.Imm(16), count)
	d.JZ(to(label + "Fold"))
	d.last(x, address, acc)
	d.Label(label + "Fold")
	d.fold(label, acc, group)
	d.ADDQ(operand.Imm(uint64(4*group)), d.y)
	d.LEAQ(operand.Mem{Base: d.w, Index: d.ldw, Scale: uint8(min(group, 8))}, d.w)
	d.SUBQ(operand.Imm(uint64(group)), d.n)
	d.JMP(to(label))
}

// ahead is where the next group of rows begins, for each four of them: its rows are fetched while this group's are added, as a row is too short for
// the processor to see what comes after it. A single row has none.
func (d *dotsWriter) ahead(p []reg.Register, group int) []reg.Register {
	if group == 1 {
		return nil
	}
	next := make([]reg.Register, len(p))
	for i, q := range p {
		r := d.GP64()
		d.LEAQ(operand.Mem{Base: q, Index: d.ldw, Scale: 4}, r)
		if group > 4 {
			d.LEAQ(operand.Mem{Base: r, Index: d.ldw, Scale: 4}, r)
		}
		next[i] = r
	}
	return next
}

// last adds the elements past the last whole sixteen.
func (d *dotsWriter) last(x reg.Register, address func(i, part int) operand.Mem, acc []reg.VecVirtual) {
	per := len(d.xv)
	if d.bits == 512 {
		w := d.ZMM()
		d.VMOVUPS_Z(operand.Mem{Base: x}, d.bits16, d.xv[0])
		for i := range acc {
			d.VMOVUPS_Z(address(i, 0), d.bits16, w)
			d.VFMADD231PS(w, d.xv[0], acc[i])
		}
		return
	}
	for part, v := range d.xv {
		d.VMASKMOVPS(operand.Mem{Base: x, Disp: 32 * part}, d.tail[part], v)
		for i := range len(acc) / per {
			d.VMASKMOVPS(address(i, part), d.tail[part], d.spare[part])
			d.VFMADD231PS(d.spare[part], v, acc[i*per+part])
		}
	}
}

// fold adds up the lanes of every row and stores the sums.
func (d *dotsWriter) fold(label string, acc []reg.VecVirtual, group int) {
	per := len(d.xv)
	sums := make([]reg.VecVirtual, group)
	t := d.YMM()
	for i := range group {
		low := acc[i*per].AsY()
		if per == 2 {
			d.VADDPS(acc[i*per+1], low, low)
		} else {
			d.VEXTRACTF64X4(operand.Imm(1), acc[i], t)
			d.VADDPS(t, low, low)
		}
		x := acc[i*per].AsX()
		d.VEXTRACTF128(operand.Imm(1), low, t.AsX())
		d.VADDPS(t.AsX(), x, x)
		d.VPERMILPS(operand.Imm(0x4e), x, t.AsX())
		d.VADDPS(t.AsX(), x, x)
		d.VPERMILPS(operand.Imm(0xb1), x, t.AsX())
		d.VADDPS(t.AsX(), x, x)
		sums[i] = acc[i*per]
	}
	if d.add != nil {
		d.TESTQ(d.add, d.add)
		d.JZ(to(label + "Put"))
		for i, s := range sums {
			d.VADDSS(operand.Mem{Base: d.y, Disp: 4 * i}, s.AsX(), s.AsX())
		}
		d.Label(label + "Put")
	}
	for i, s := range sums {
		d.VMOVSS(s.AsX(), operand.Mem{Base: d.y, Disp: 4 * i})
	}
}
