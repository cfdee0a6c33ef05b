package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// storage is how weights lie in memory for [dotsWriter.packedRows]: the bytes of one, whether runs of runLength have a scale, and how many rows are
// read side by side. Memory serves one stream best; widening bytes takes as long as they take to come, so that two chains of sums pay.
type storage struct {
	name   string
	bytes  int
	scaled bool
	group  int
}

var storages = []storage{{"Halves", 2, false, 1}, {"Bytes", 1, true, 2}}

// runLength is the number of weights that share a scale; all rows are a multiple of it.
const runLength = 32

// packed writes the functions that read stored weights.
func (a *assembler) packed(l level) {
	for _, s := range storages {
		a.packedDots(l, s)
	}
	a.expand(l)
}

// packedDots writes the dot products of dots512 and dots256 with weights that are widened on the way: what they give has the same bits as with
// wide ones.
func (a *assembler) packedDots(l level, s storage) {
	name := fmt.Sprintf("dots%s%d", s.name, l.bits)
	a.begin(name, "func(y *float32, x *float32, w *byte, ldw int, scales *uint16, lds int, k int, n int)",
		name+" is y[j] = x · w[j] for n stored rows w of k elements, ldw bytes apart, with scales lds apart; k is a multiple of 32 and not 0. Lanes are",
		fmt.Sprintf("those of dots%d.", l.bits))
	d := &dotsWriter{assembler: a, level: l}
	d.xv = a.vectors(l, 512/l.bits)
	d.y, d.x, d.w, d.ldw = a.integer("y"), a.integer("x"), a.integer("w"), a.integer("ldw")
	d.k, d.n = a.integer("k"), a.integer("n")
	d.ldw3 = a.times3(d.ldw)
	if s.scaled {
		d.scales, d.lds = a.integer("scales"), a.integer("lds")
		a.SHLQ(operand.Imm(1), d.lds)
		d.lds3 = a.times3(d.lds)
	}
	if s.group > 1 {
		d.packedRows("many", s, s.group, "one")
	}
	d.packedRows("one", s, 1, "done")
	a.Label("done")
	a.end()
}

// packedRows is [dotsWriter.rows] for stored weights.
func (d *dotsWriter) packedRows(label string, s storage, group int, next string) {
	per := len(d.xv)
	d.Label(label)
	d.CMPQ(d.n, operand.Imm(uint64(group)))
	d.JL(to(next))
	acc := d.vectors(d.level, group*per)
	for _, v := range acc {
		d.clear(d.level, v)
	}
	x, count, w, scales := d.GP64(), d.GP64(), d.GP64(), d.GP64()
	d.MOVQ(d.x, x)
	d.MOVQ(d.k, count)
	d.MOVQ(d.w, w)
	if s.scaled {
		d.MOVQ(d.scales, scales)
	}
	fetch := d.fetches(group, group*runLength*s.bytes)
	d.Label(label + "Loop")
	fetch()
	factors := make([]reg.VecVirtual, group)
	for i := range factors {
		if s.scaled {
			factors[i] = d.scale(step(scales, d.lds, d.lds3, i, 0))
		}
	}
	lanes := d.bits / 32
	for at := 0; at < runLength; at += lanes {
		xv := d.xv[at/lanes%per]
		d.VMOVUPS(operand.Mem{Base: x, Disp: 4 * at}, xv)
		for i := range group {
			v := d.weights(s, step(w, d.ldw, d.ldw3, i, at*s.bytes), factors[i])
			d.VFMADD231PS(v, xv, acc[i*per+at/lanes%per])
		}
	}
	d.ADDQ(operand.Imm(4*runLength), x)
	d.ADDQ(operand.Imm(uint64(runLength*s.bytes)), w)
	if s.scaled {
		d.ADDQ(operand.Imm(2), scales)
	}
	d.SUBQ(operand.Imm(runLength), count)
	d.JNZ(to(label + "Loop"))
	d.fold(label, acc, group)
	d.ADDQ(operand.Imm(uint64(4*group)), d.y)
	d.LEAQ(operand.Mem{Base: d.w, Index: d.ldw, Scale: uint8(group)}, d.w)
	if s.scaled {
		d.LEAQ(operand.Mem{Base: d.scales, Index: d.lds, Scale: uint8(group)}, d.scales)
	}
	d.SUBQ(operand.Imm(uint64(group)), d.n)
	d.JMP(to(label))
}

// fetches prepares for rows that are read side by side, so many bytes of all of them in a step, and returns what a step writes: two groups ahead,
// memory is fetched in the order in which it lies, as the processor itself does not follow several rows at once. A single row needs nothing.
func (d *dotsWriter) fetches(group, bytes int) func() {
	if group == 1 {
		return func() {}
	}
	ahead := d.GP64()
	d.LEAQ(operand.Mem{Base: d.w, Index: d.ldw, Scale: uint8(group)}, ahead)
	d.LEAQ(operand.Mem{Base: ahead, Index: d.ldw, Scale: uint8(group)}, ahead)
	return func() {
		for at := 0; at < bytes; at += 64 {
			d.PREFETCHT0(operand.Mem{Base: ahead, Disp: at})
		}
		d.ADDQ(operand.U32(uint32(bytes)), ahead)
	}
}

// scale is a bfloat16 in every lane.
func (d *dotsWriter) scale(m operand.Mem) reg.VecVirtual {
	v := d.vector(d.assembler)
	d.VPBROADCASTW(m, v)
	d.VPSLLD(operand.Imm(16), v, v)
	return v
}

// weights widens a vector of stored weights.
func (d *dotsWriter) weights(s storage, m operand.Mem, factor reg.VecVirtual) reg.VecVirtual {
	if !s.scaled {
		return d.half(d.level, m)
	}
	v := d.vector(d.assembler)
	d.VPMOVSXBD(m, v)
	d.VCVTDQ2PS(v, v)
	d.VMULPS(factor, v, v)
	return v
}

// expand writes the widening of 8-bit weights by themselves.
func (a *assembler) expand(l level) {
	name := fmt.Sprintf("expand%d", l.bits)
	a.begin(name, "func(y *float32, w *byte, scales *uint16, runs int)", name+" widens runs of 32 weights of 8 bits, each with a scale; there is one at least.")
	d := &dotsWriter{assembler: a, level: l}
	y, w, scales, runs := a.integer("y"), a.integer("w"), a.integer("scales"), a.integer("runs")
	a.Label("loop")
	factor := d.scale(operand.Mem{Base: scales})
	for at := 0; at < runLength; at += l.bits / 32 {
		a.VMOVUPS(d.weights(storages[1], operand.Mem{Base: w, Disp: at}, factor), operand.Mem{Base: y, Disp: 4 * at})
	}
	a.ADDQ(operand.Imm(4*runLength), y)
	a.ADDQ(operand.Imm(runLength), w)
	a.ADDQ(operand.Imm(2), scales)
	a.DECQ(runs)
	a.JNZ(to("loop"))
	a.end()
}
