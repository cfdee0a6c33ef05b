package block

import (
	"regexp"
	"strings"
	"testing"
)

// arms are the ends of box-drawing characters that reach up and down; a sum is reached from both sides.
var up, down = "│┘└┴┼├┤+", "│┐┌┬┼├┤+"

// TestDiagramsJoin wants every line that goes up or down in a diagram to meet another one: a label that is longer than the wire beside it would
// show here.
func TestDiagramsJoin(t *testing.T) {
	for _, name := range Names() {
		p, _ := Lookup(name)
		for direction, text := range map[string]string{"forward": p.Diagram.Forward, "backward": p.Diagram.Backward} {
			if !strings.ContainsAny(text, "x g") {
				t.Errorf("%s has no %s diagram", name, direction)
			}
			for _, loose := range looseEnds(text) {
				t.Errorf("%s %s: %s\n%s", name, direction, loose, text)
			}
		}
	}
	if loose := looseEnds("x ─┬──(+)\n  └────┘"); len(loose) != 2 {
		t.Errorf("a shifted line has loose ends %v, want two", loose)
	}
}

// looseEnds lists the vertical ends of a diagram that nothing meets.
func looseEnds(text string) []string {
	var lines [][]rune
	for _, l := range strings.Split(text, "\n") {
		lines = append(lines, []rune(l))
	}
	at := func(row, column int) rune {
		if row < 0 || row >= len(lines) || column >= len(lines[row]) {
			return ' '
		}
		return lines[row][column]
	}
	var loose []string
	for row, line := range lines {
		for column, r := range line {
			if r != '+' && strings.ContainsRune(up, r) && !strings.ContainsRune(down, at(row-1, column)) {
				loose = append(loose, "nothing above "+string(line[:column+1]))
			}
			if r != '+' && strings.ContainsRune(down, r) && !strings.ContainsRune(up, at(row+1, column)) {
				loose = append(loose, "nothing below "+string(line[:column+1]))
			}
		}
	}
	return loose
}

// TestDiagramsShowTheEquation wants both diagrams to hold the operations of the equation: as many norms a block, and one transposed Jacobian for
// each of the forward's operations.
func TestDiagramsShowTheEquation(t *testing.T) {
	norm := regexp.MustCompile(`Norm\w*`)
	for _, name := range Names() {
		p, _ := Lookup(name)
		equation, _, _ := strings.Cut(p.Equation, "; y =")
		want := len(norm.FindAllString(equation, -1))
		switch name {
		case "hybrid":
			want = 2 // the equation says of queries, keys and values in words that they are normed
		case "mix":
			want = 2 // the equation names the two placements
		}
		if got := len(norm.FindAllString(p.Diagram.Forward, -1)); got != want {
			t.Errorf("%s: the diagram has %d norms, the equation %d: %s\n%s", name, got, want, p.Equation, p.Diagram.Forward)
		}
		for _, o := range regexp.MustCompile(`\b(Norm\w*|F|H|W_out|Attn|MLP)\b`).FindAllString(strings.NewReplacer("(Norm on q, k, v)", "", "blocks", "").Replace(p.Diagram.Forward), -1) {
			if !strings.Contains(p.Diagram.Backward, "J_"+o+"'") {
				t.Errorf("%s: the backward diagram lacks J_%s'\n%s", name, o, p.Diagram.Backward)
			}
		}
	}
}
