package block

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Diagram is a placement's wiring as text for a terminal.
type Diagram struct {
	Forward  string // from the stream before to the stream after
	Backward string // the same wires from right to left: g is the loss's gradient by the stream
}

// sketch is the wiring of a sub-layer on one stream, from which both diagrams are drawn. Each field lists operations in their forward order,
// separated by spaces.
type sketch struct {
	skip   string // on the way past the sub-layer
	branch string // through the sub-layer
	after  string // on the sum
}

// draw draws both directions.
func (s sketch) draw() Diagram {
	return Diagram{Forward: s.forward(), Backward: s.backward()}
}

// wire joins operations by a line of the given joint, with a piece of it on both ends.
func wire(joint string, operations ...string) string {
	if len(operations) == 0 {
		return joint
	}
	return joint + " " + strings.Join(operations, " "+joint+" ") + " " + joint
}

// stretch makes both wires equally long by more of the line at their ends.
func stretch(a, b, line string) (string, string) {
	longest := max(utf8.RuneCountInString(a), utf8.RuneCountInString(b))
	return fill(a, longest, line), fill(b, longest, line)
}

func fill(wire string, length int, line string) string {
	return wire + strings.Repeat(line, max(0, length-utf8.RuneCountInString(wire)))
}

func (s sketch) forward() string {
	skip, branch := stretch(wire("──", strings.Fields(s.skip)...), wire("──", strings.Fields(s.branch)...), "─")
	return fmt.Sprintf("x ─┬%s(+)%s> x'\n   └%s─┘", skip, wire("──", strings.Fields(s.after)...), branch)
}

// transposed turns forward operations into what multiplies the gradient, in the order in which it comes by: from right to left.
func transposed(operations string) []string {
	list := strings.Fields(operations)
	for i, o := range list {
		if !strings.HasPrefix(o, "×") {
			list[i] = "J_" + o + "'"
		}
	}
	return list
}

func (s sketch) backward() string {
	skip, branch := stretch(wire("<─", transposed(s.skip)...), wire("<─", transposed(s.branch)...), "─")
	above := fmt.Sprintf("g <─(+)%s┬%s g'", skip, wire("<─", transposed(s.after)...))
	below := fmt.Sprintf("     └%s─┘", branch)
	return above + "   straight\n" + fill(below, utf8.RuneCountInString(above), " ") + "   branch"
}

// sequence is the diagram of operations one after the other, with no way past them.
func sequence(operations string) Diagram {
	return Diagram{
		Forward:  "x " + wire("──", strings.Fields(operations)...) + "> x'",
		Backward: "g " + wire("<─", transposed(operations)...) + " g'   branch, the only way",
	}
}
