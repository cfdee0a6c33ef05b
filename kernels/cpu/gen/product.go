package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// level is an instruction set: the width of its vectors and the rows of its tile of C, which is two vectors wide.
type level struct {
	bits, rows int
}

var levels = []level{{512, 12}, {256, 6}}

// unroll is the number of steps of K in the body of a tile's loop.
const unroll = 4

func products(a *assembler) {
	for _, l := range levels {
		for r := 1; r <= l.rows; r++ {
			a.tile(l, r, true)
			a.tile(l, r, false)
		}
	}
	a.turn()
	for _, vectors := range []int{1, 2, 4} {
		a.pack(vectors)
	}
	a.dots512()
	a.dots256()
	a.fetch()
	for _, l := range levels {
		a.multiplyAdds(l)
	}
}

// multiplyAdds writes the multiply-adds of a tile and nothing else: as many independent chains, all in registers.
func (a *assembler) multiplyAdds(l level) {
	name := fmt.Sprintf("multiplyAdds%d", l.bits)
	a.begin(name, "func(n int)", fmt.Sprintf("%s does n times the multiply-adds of a step of the largest tile; n is at least 1.", name))
	n := a.integer("n")
	chains, x := a.vectors(l, 2*l.rows), l.vector(a)
	for _, v := range append(chains, x) {
		a.clear(l, v)
	}
	a.Label("loop")
	for _, v := range chains {
		a.VFMADD231PS(x, x, v)
	}
	a.DECQ(n)
	a.JNZ(to("loop"))
	a.end()
}

// clear sets a vector to zero.
func (a *assembler) clear(l level, v reg.VecVirtual) {
	if l.bits == 512 {
		a.VPXORD(v, v, v)
	} else {
		a.VXORPS(v, v, v)
	}
}

func (l level) vector(a *assembler) reg.VecVirtual {
	if l.bits == 512 {
		return a.ZMM()
	}
	return a.YMM()
}

func (a *assembler) vectors(l level, n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = l.vector(a)
	}
	return v
}

const tileSignature = "func(k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int, n int, from, bias, residual *float32, ldr int, next *float32, ldn int, fetches int)"

// tile writes C[r, n] = A B, one chain of fused multiply-adds over K for each element, plus from, bias and residual in this order, each unless it
// is nil. Rows of from are ldc apart, those of the residual ldr. Rows of B hold n elements, of which the 256-bit tile reads two vectors. A lies
// in rows of K elements, or in columns, K rows of r elements. Meanwhile it asks for memory that is read later: two cache lines at next, ldn further, and
// so on, one pair every few steps as long as there are fetches and steps.
func (a *assembler) tile(l level, r int, inRows bool) {
	form := "Columns"
	if inRows {
		form = "Rows"
	}
	name := fmt.Sprintf("tile%d%s%d", l.bits, form, r)
	a.begin(name, tileSignature, fmt.Sprintf("%s is a tile of %d rows of a product, A in %s.", name, r, map[bool]string{true: "rows", false: "columns"}[inRows]))
	t := &tileWriter{assembler: a, level: l, r: r, inRows: inRows}
	t.prefetch("c", "ldc")
	t.unless("residual", "begin")
	t.prefetch("residual", "ldr")
	t.Label("begin")
	t.load()
	t.loop()
	t.store()
	a.end()
}

// tileWriter holds the registers of a tile.
type tileWriter struct {
	*assembler
	level
	r           int
	inRows      bool
	acc         [][]reg.VecVirtual
	bv, av      []reg.VecVirtual
	a           []reg.Register // rows 0, 4, 8 … of A, or its column
	lda, lda3   reg.Register
	b, ahead    reg.Register // B, and B some steps ahead
	ldb, ldb3   reg.Register
	low, high   reg.OpmaskVirtual // of the columns, 512 bits alone
	atEdge      bool              // what is written now reads some columns of B alone
	count, rest reg.GPVirtual
}

func (t *tileWriter) load() {
	for range t.r {
		row := t.vectors(t.level, 2)
		for _, v := range row {
			t.clear(t.level, v)
		}
		t.acc = append(t.acc, row)
	}
	t.bv, t.av = t.vectors(t.level, 2), t.vectors(t.level, 2)
	t.count = t.integer("k")
	first := t.integer("a")
	lda := t.stride("lda")
	t.a, t.lda = []reg.Register{first}, lda
	if t.inRows && t.r > 3 || !t.inRows {
		t.lda3 = t.times3(lda)
	}
	if t.inRows {
		for i := 4; i < t.r; i += 4 {
			p := t.GP64()
			t.LEAQ(operand.Mem{Base: t.a[len(t.a)-1], Index: lda, Scale: 4}, p)
			t.a = append(t.a, p)
		}
	}
	b, ldb := t.integer("b"), t.stride("ldb")
	ahead := t.GP64()
	t.LEAQ(operand.Mem{Base: b, Index: ldb, Scale: 8}, ahead)
	t.b, t.ldb, t.ldb3, t.ahead = b, ldb, t.times3(ldb), ahead
	if t.bits == 512 {
		n, spare := t.integer("n"), t.GP64()
		t.low, t.high = t.K(), t.K()
		t.bitMask(n, spare, 0, t.low)
		t.bitMask(n, spare, 16, t.high)
		t.CMPQ(n, operand.Imm(uint64(2*t.bits/32)))
		t.JL(to("edge"))
	}
}

// element is the address of A's row i at step u.
func (t *tileWriter) element(i, u int) operand.Mem {
	if t.inRows {
		return step(t.a[i/4], t.lda, t.lda3, i%4, 4*u)
	}
	return step(t.a[0], t.lda, t.lda3, u, 4*i)
}

// multiply is step u. Each element of A is loaded once for both vectors of B: as an operand of either multiply-add it would be loaded twice, and
// a processor with two multipliers of 512 bits has no more than two loads for them.
func (t *tileWriter) multiply(u int) {
	width := t.bits / 8
	b0, b1 := step(t.b, t.ldb, t.ldb3, u, 0), step(t.b, t.ldb, t.ldb3, u, width)
	t.PREFETCHT0(step(t.ahead, t.ldb, t.ldb3, u, 0))
	if t.bits == 512 {
		t.PREFETCHT0(step(t.ahead, t.ldb, t.ldb3, u, width))
	}
	if t.atEdge {
		t.VMOVUPS_Z(b0, t.low, t.bv[0])
		t.VMOVUPS_Z(b1, t.high, t.bv[1])
	} else {
		t.VMOVUPS(b0, t.bv[0])
		t.VMOVUPS(b1, t.bv[1])
	}
	for i := range t.r {
		x := t.av[i%2]
		t.VBROADCASTSS(t.element(i, u), x)
		t.VFMADD231PS(t.bv[0], x, t.acc[i][0])
		t.VFMADD231PS(t.bv[1], x, t.acc[i][1])
	}
}

// advance moves all pointers by a number of steps, 1 or unroll.
func (t *tileWriter) advance(steps int) {
	if t.inRows {
		for _, p := range t.a {
			t.ADDQ(operand.Imm(uint64(4*steps)), p)
		}
	} else {
		t.LEAQ(operand.Mem{Base: t.a[0], Index: t.lda, Scale: uint8(steps)}, t.a[0])
	}
	t.LEAQ(operand.Mem{Base: t.b, Index: t.ldb, Scale: uint8(steps)}, t.b)
	t.LEAQ(operand.Mem{Base: t.ahead, Index: t.ldb, Scale: uint8(steps)}, t.ahead)
}

// steps ends with a jump back to the label where they begin, as often as count says.
func (t *tileWriter) steps(count reg.GPVirtual, label string) {
	for u := range unroll {
		t.multiply(u)
	}
	t.advance(unroll)
	t.DECQ(count)
	t.JNZ(to(label))
}

// fetching are those steps that ask for later memory; count becomes that of the others.
func (t *tileWriter) fetching() {
	fetches := t.integer("fetches")
	t.CMPQ(fetches, t.count)
	t.CMOVQGT(t.count, fetches)
	t.SUBQ(fetches, t.count)
	t.TESTQ(fetches, fetches)
	t.JZ(to("plain"))
	next, ldn := t.integer("next"), t.stride("ldn")
	t.Label("fetching")
	t.PREFETCHT1(operand.Mem{Base: next})
	t.PREFETCHT1(operand.Mem{Base: next, Disp: 64})
	t.ADDQ(ldn, next)
	t.steps(fetches, "fetching")
	t.Label("plain")
}

func (t *tileWriter) loop() {
	t.rest = t.GP64()
	t.MOVQ(t.count, t.rest)
	t.ANDQ(operand.Imm(unroll-1), t.rest)
	t.SHRQ(operand.Imm(2), t.count)
	t.fetching()
	t.TESTQ(t.count, t.count)
	t.JZ(to("rest"))
	t.Label("loop")
	t.steps(t.count, "loop")
	t.Label("rest")
	t.TESTQ(t.rest, t.rest)
	t.JZ(to("store"))
	t.Label("single")
	t.multiply(0)
	t.advance(1)
	t.DECQ(t.rest)
	t.JNZ(to("single"))
	t.edge()
	t.Label("store")
}

// edge are the steps of a tile with less columns than it could have. A masked load takes a multiplier's turn on some processors, so that whole tiles
// do without.
func (t *tileWriter) edge() {
	if t.bits != 512 {
		return
	}
	t.JMP(to("store"))
	t.Label("edge")
	t.atEdge = true
	t.multiply(0)
	t.advance(1)
	t.DECQ(t.count)
	t.JNZ(to("edge"))
	t.atEdge = false
}
