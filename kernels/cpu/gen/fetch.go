package main

import "github.com/mmcloughlin/avo/operand"

// fetch writes the prefetching of rows into the second cache.
func (a *assembler) fetch() {
	a.begin("fetch", "func(x *float32, ld int, n int, rows int)", "fetch has the processor fetch the first n elements of rows of x, ld apart; it waits for none. rows is at least 1.")
	x, ld, n, rows := a.integer("x"), a.stride("ld"), a.integer("n"), a.integer("rows")
	at, left := a.GP64(), a.GP64()
	a.Label("row")
	a.MOVQ(x, at)
	a.MOVQ(n, left)
	a.Label("line")
	a.PREFETCHT1(operand.Mem{Base: at})
	a.ADDQ(operand.Imm(64), at)
	a.SUBQ(operand.Imm(16), left)
	a.JG(to("line"))
	a.ADDQ(ld, x)
	a.DECQ(rows)
	a.JNZ(to("row"))
	a.end()
}
