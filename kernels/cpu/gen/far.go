package main

import (
	"github.com/mmcloughlin/avo/operand"
)

// Functions for memory beyond the caches differ from their namesakes in how they move it: whole vectors of their results are written without
// reading the lines that they replace, where these are aligned, and what they read is asked for some lines before. Results have the same bits.
// Whoever calls them puts a fence before others read.

// fetchAhead is how many bytes before its use a line is fetched, to the second cache: about a row of a model, and a page, at whose end the
// processor's own prefetch stops.
const fetchAhead = 4096

// beyond names the slices of a span that lie beyond the caches, those that are written and those that are read.
func (s *span) beyond(outs, ins []string) {
	if !s.assembler.far {
		return
	}
	s.outs, s.ins = outs, map[string]bool{}
	for _, name := range ins {
		s.ins[name] = true
	}
}

// out and in name slices.
func out(names ...string) []string { return names }
func in(names ...string) []string  { return names }

// unaligned jumps to a label unless all slices that are written begin a line.
func (s *span) unaligned(label string) {
	all := s.GP64()
	s.MOVQ(s.base[s.outs[0]], all)
	for _, name := range s.outs[1:] {
		s.ORQ(s.base[name], all)
	}
	s.TESTQ(operand.U32(63), all)
	s.JNZ(to(label))
}

// fence writes the order of stores: those past the caches are seen before any later one.
func (a *assembler) fence() {
	a.begin("fence", "func()", "fence makes stores past the caches visible before any that follows.")
	a.SFENCE()
	a.RET()
}
