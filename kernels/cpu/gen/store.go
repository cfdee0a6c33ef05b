package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// prefetch fetches what a tile covers of a matrix, whose first element and distance of rows are parameters.
func (t *tileWriter) prefetch(first, distance string) {
	p, ld := t.integer(first), t.stride(distance)
	for i := range t.r {
		for j := 0; j < 2*t.bits/8; j += 64 {
			t.PREFETCHT0(operand.Mem{Base: p, Disp: j})
		}
		if i < t.r-1 {
			t.ADDQ(ld, p)
		}
	}
}

// unless jumps to a label if a parameter is nil.
func (t *tileWriter) unless(parameter, label string) {
	p := t.integer(parameter)
	t.TESTQ(p, p)
	t.JZ(to(label))
}

// each calls fn with every vector of the tile and its place in a matrix.
func (t *tileWriter) each(first, distance string, fn func(acc reg.VecVirtual, m operand.Mem, half int)) {
	p, ld := t.integer(first), t.stride(distance)
	for i, row := range t.acc {
		for half, v := range row {
			fn(v, operand.Mem{Base: p, Disp: half * t.bits / 8}, half)
		}
		if i < t.r-1 {
			t.ADDQ(ld, p)
		}
	}
}

// store finishes the tile. The 256-bit one has a way of its own for rows of less than two vectors, whose masks take the place of B.
func (t *tileWriter) store() {
	if t.bits == 256 {
		n := t.integer("n")
		t.CMPQ(n, operand.Imm(16))
		t.JL(to("narrow"))
		t.finish(false)
		t.end()
		t.Label("narrow")
		t.wordMasks(n, t.bv...)
		t.finish(true)
		return
	}
	t.finish(false)
}

// finish adds what is to be added and stores the result. Everything is read before anything is written.
func (t *tileWriter) finish(narrow bool) {
	label := func(name string) string {
		if narrow {
			return name + "Narrow"
		}
		return name
	}
	add := func(v reg.VecVirtual, m operand.Mem, half int) { t.add(v, m, half, narrow) }
	t.unless("from", label("bias"))
	t.each("from", "ldc", add)
	t.Label(label("bias"))
	t.unless("bias", label("residual"))
	bias := t.integer("bias")
	for half, x := range t.av {
		t.part(operand.Mem{Base: bias, Disp: half * t.bits / 8}, half, narrow, x)
		for _, row := range t.acc {
			t.VADDPS(x, row[half], row[half])
		}
	}
	t.Label(label("residual"))
	t.unless("residual", label("put"))
	t.each("residual", "ldr", add)
	t.Label(label("put"))
	t.each("c", "ldc", func(v reg.VecVirtual, m operand.Mem, half int) {
		switch {
		case t.bits == 512:
			t.VMOVUPS(v, t.columns(half), m)
		case narrow:
			t.VMASKMOVPS(v, t.bv[half], m)
		default:
			t.VMOVUPS(v, m)
		}
	})
}

// columns is the mask of a half of the tile's columns.
func (t *tileWriter) columns(half int) reg.OpmaskVirtual {
	return []reg.OpmaskVirtual{t.low, t.high}[half]
}

// add is v += m.
func (t *tileWriter) add(v reg.VecVirtual, m operand.Mem, half int, narrow bool) {
	switch {
	case t.bits == 512:
		t.VADDPS(m, v, t.columns(half), v)
	case narrow:
		t.VMASKMOVPS(m, t.bv[half], t.av[0])
		t.VADDPS(t.av[0], v, v)
	default:
		t.VADDPS(m, v, v)
	}
}

// part reads half a row.
func (t *tileWriter) part(m operand.Mem, half int, narrow bool, x reg.VecVirtual) {
	switch {
	case t.bits == 512:
		t.VMOVUPS_Z(m, t.columns(half), x)
	case narrow:
		t.VMASKMOVPS(m, t.bv[half], x)
	default:
		t.VMOVUPS(m, x)
	}
}
