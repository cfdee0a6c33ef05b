package block

import (
	"fmt"
	"strings"
)

// Bases are the distributions of initial values that placements ask for, in words.
var Bases = map[string]string{
	"fan_in": "N(0, 1/fan_in)",
	"xavier": "N(0, 2/(fan_in + fan_out)) (Glorot & Bengio 2010)",
}

// BranchFactor is the factor on the standard deviation of values, output projection and MLP in block l of a model of the given depth.
func (p Placement) BranchFactor(l, layers int) float64 {
	if p.Init == nil {
		return 1
	}
	return p.Init(l, layers, "self_attn.v_proj.weight")
}

// Start is a row of the table of initialisations: what a placement asks for, in words.
type Start struct {
	Placement string
	Base      string // the distribution of matrices
	Writers   string // what comes on top for the matrices that write to the stream
	Factor    string // what comes on top for values, output projection and MLP
	Gate      string // where the trained factors on branches start
	Warmup    string
}

// Columns names the fields of a [Start].
func (Start) Columns() []string {
	return []string{"placement", "base", "writers of the stream", "values, output projection, MLP", "trained factor starts at", "warm-up"}
}

// Cells are the fields in order.
func (s Start) Cells() []string {
	return []string{s.Placement, s.Base, s.Writers, s.Factor, s.Gate, s.Warmup}
}

// Starts is the table of all placements.
func Starts() []Start {
	var all []Start
	for _, name := range Names() {
		p, _ := Lookup(name)
		all = append(all, p.Start())
	}
	return all
}

// Start is the placement's row.
func (p Placement) Start() Start {
	s := Start{Placement: p.Name, Base: p.Base, Writers: "as base", Factor: "×1", Gate: "-", Warmup: "no need"}
	if p.Writers == "scaled" {
		s.Writers = "×1/sqrt(2N)"
	}
	if p.Factor != "" {
		s.Factor = "×" + p.Factor
	}
	if p.Gate != nil {
		s.Gate = gates(p.Gate)
	}
	if p.Warmup {
		s.Warmup = "needed"
	}
	return s
}

// gates says where trained factors start, at the depths where that changes.
func gates(start func(layers int) float64) string {
	var parts []string
	from := 1
	for layers := 2; layers <= 100; layers++ {
		if now := start(layers); now != start(from) {
			parts = append(parts, fmt.Sprintf("%g (N < %d)", start(from), layers))
			from = layers
		}
	}
	if from == 1 {
		return fmt.Sprintf("%g", start(1))
	}
	return strings.Join(append(parts, fmt.Sprintf("%g (N >= %d)", start(from), from)), ", ")
}

// Markdown are the tables that documentation shows, by name: equations, and starts.
func Markdown() map[string]string {
	equations := [][]string{{"placement", "one block, and the end", "from"}}
	for _, name := range Names() {
		p, _ := Lookup(name)
		equations = append(equations, []string{"`" + p.Name + "`", p.Equation, p.Paper})
	}
	starts := [][]string{Start{}.Columns()}
	for _, s := range Starts() {
		cells := s.Cells()
		cells[0] = "`" + cells[0] + "`"
		starts = append(starts, cells)
	}
	return map[string]string{"equations": markdown(equations), "starts": markdown(starts)}
}

// markdown is a table whose first row is its head.
func markdown(rows [][]string) string {
	var b strings.Builder
	for i, cells := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			b.WriteString("|" + strings.Repeat("---|", len(cells)) + "\n")
		}
	}
	return strings.NewReplacer("<-", "←", "*", "\\*").Replace(b.String())
}
