package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Where the parts of a draw lie, in bytes; see type draw of package cpu.
const (
	drawKeys    = 0
	drawCounter = 80
	drawBelow   = 96
	drawScale   = 100
)

// dropout writes Philox4x32-10 on blocks of four elements, one block in each 64-bit element of a vector: a product of 32-bit words is one
// instruction there, its low half is taken by the next one as it is, and its high half is a shift away. Blocks are ordered so that pairs of
// words, put together, are elements in their order.
func (a *assembler) dropout(l level) {
	name := fmt.Sprintf("dropout%d", l.bits)
	if a.far {
		name = fmt.Sprintf("dropoutFar%d", l.bits)
	}
	a.begin(name, "func(y, x []float32, block uint32, draw *uint32)",
		name+" is y = scale x where the random number is above a limit, and 0 elsewhere; the length is a multiple of 32, x begins with a block, y may be x.")
	d := &dropoutWriter{span: &span{assembler: a, level: l, base: map[string]reg.GPVirtual{}}}
	for _, p := range []string{"y", "x"} {
		d.base[p] = a.GP64()
		a.Load(a.Param(p).Base(), d.base[p])
	}
	d.n = a.GP64()
	a.Load(a.Param("y").Len(), d.n)
	d.beyond(out("y"), in("x"))
	d.write()
}

type dropoutWriter struct {
	*span
	draw                 reg.GPVirtual
	block                vec // numbers of the blocks
	first, second, scale vec // the multipliers of Philox, and of x
	below                vec // the largest number that is dropped
}

func (d *dropoutWriter) write() {
	a := d.assembler
	d.draw = d.integer("draw")
	at := func(disp int) operand.Mem { return operand.Mem{Base: d.draw, Disp: disp} }
	d.block, d.first, d.second, d.scale, d.below = d.scalar("block"), d.vec(), d.vec(), d.vec(), d.vec()
	a.VPADDD(a.blockOrder(d.bits), d.block, d.block)
	a.VMOVUPS(a.words(0xD2511F53), d.first)
	a.VMOVUPS(a.words(0xCD9E8D57), d.second)
	a.VBROADCASTSS(at(drawScale), d.scale)
	a.VPBROADCASTD(at(drawBelow), d.below)
	d.at = a.GP64()
	a.XORQ(d.at, d.at)
	if len(d.outs) > 0 {
		d.unaligned("loop")
		d.bypass = true
		d.loop("farLoop")
		d.bypass = false
	}
	d.loop("loop")
	a.Label("done")
	a.end()
}

// loop writes the loop over steps of 32 elements.
func (d *dropoutWriter) loop(name string) {
	a := d.assembler
	a.Label(name)
	a.CMPQ(d.at, d.n)
	a.JGE(to("done"))
	blocks := d.bits / 64
	for first := 0; first < 8; first += blocks {
		d.step(4 * first)
		a.VPADDD(a.words(uint32(blocks)), d.block, d.block)
	}
	a.ADDQ(operand.Imm(32), d.at)
	a.JMP(to(name))
}

// step writes the draws of one vector of blocks, whose elements are those from the given one on.
func (d *dropoutWriter) step(from int) {
	c := [4]vec{d.vec(), d.vec(), d.vec(), d.vec()}
	d.move(d.block, c[0])
	for i := 1; i < 4; i++ {
		d.VPBROADCASTD(operand.Mem{Base: d.draw, Disp: drawCounter + 4*i}, c[i])
	}
	for round := range 10 {
		x, y := d.vec(), d.vec()
		d.VPMULUDQ(d.first, c[0], x)
		d.VPMULUDQ(d.second, c[2], y)
		c = [4]vec{d.mixed(y, c[1], 2*round), y, d.mixed(x, c[3], 2*round+1), x}
	}
	low, high := d.pairs(c[0], c[1]), d.pairs(c[2], c[3])
	even, odd := d.vec(), d.vec()
	d.VPUNPCKLQDQ(high, low, even)
	d.VPUNPCKHQDQ(high, low, odd)
	d.keep(even, from)
	d.keep(odd, from+d.bits/32)
}

// move copies a register.
func (d *dropoutWriter) move(x, y vec) {
	if d.bits == 512 {
		d.VMOVDQU64(x, y)
		return
	}
	d.VMOVDQU(x, y)
}

// mixed is the high half of a product, with a word and the key of a round's half.
func (d *dropoutWriter) mixed(product, word vec, key int) vec {
	h := d.vec()
	d.VPSRLQ(operand.Imm(32), product, h)
	m := operand.Mem{Base: d.draw, Disp: drawKeys + 4*key}
	if d.bits == 512 {
		d.VPTERNLOGD_BCST(operand.Imm(0x96), m, word, h)
		return h
	}
	k := d.vec()
	d.VPBROADCASTD(m, k)
	d.VPXOR(word, h, h)
	d.VPXOR(k, h, h)
	return h
}

// pairs has the low words of x and y side by side.
func (d *dropoutWriter) pairs(x, y vec) vec {
	p := d.vec()
	d.VPSLLQ(operand.Imm(32), y, p)
	if d.bits == 512 {
		k, w := d.K(), d.GP32()
		d.MOVL(operand.U32(0x5555), w)
		d.KMOVW(w, k)
		d.VMOVDQA32(x, k, p)
		return p
	}
	d.VPBLENDD(operand.Imm(0x55), x, p, p)
	return p
}

// keep stores the elements whose random numbers are these.
func (d *dropoutWriter) keep(random vec, from int) {
	d.VPSRLD(operand.Imm(8), random, random)
	x, y := operand.Mem{Base: d.base["x"], Index: d.at, Scale: 4, Disp: 4 * from}, operand.Mem{Base: d.base["y"], Index: d.at, Scale: 4, Disp: 4 * from}
	if d.bypass && from%16 == 0 {
		d.PREFETCHT1(x.Offset(fetchAhead))
	}
	v := d.vec()
	if d.bits == 512 {
		k := d.K()
		d.VPCMPGTD(d.below, random, k)
		d.VMULPS_Z(x, d.scale, k, v)
	} else {
		d.VPCMPGTD(d.below, random, random)
		d.VMULPS(x, d.scale, v)
		d.VANDPS(random, v, v)
	}
	if d.bypass {
		d.VMOVNTPS(v, y)
	} else {
		d.VMOVUPS(v, y)
	}
}

// blockOrder is the number of each block of a vector, in the low words: the first half of them in even places.
func (a *assembler) blockOrder(bits int) operand.Mem {
	n := bits / 64
	name := fmt.Sprintf("blocks%d", n)
	if a.constants == nil {
		a.constants = map[string]operand.Mem{}
	}
	if _, ok := a.constants[name]; !ok {
		a.constants[name] = a.StaticGlobal(name)
		a.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range n {
			a.AddDatum(8*i, operand.U64(i/2+i%2*n/2))
		}
	}
	return a.constants[name]
}
