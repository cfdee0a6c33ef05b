package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"prenorm/train/lab/report"
)

// Verdict says whether a claim holds in a measurement.
type Verdict string

// Verdicts.
const (
	Holds      Verdict = "holds"
	Fails      Verdict = "does not hold"
	CannotTell Verdict = "cannot be told"
)

// Row is one claim with what was measured.
type Row struct {
	ID       string
	Claim    string
	Source   string
	Measured string // means over seeds, with lowest and highest where there is a spread
	Verdict  Verdict
	Note     string // how it was measured and what bears on it
}

// Scorecard is what a reproduction found.
type Scorecard struct {
	Scale   Scale
	Text    *Text
	Rows    []Row
	Figures []report.Figure
}

// when is Holds or Fails.
func when(holds bool) Verdict {
	if holds {
		return Holds
	}
	return Fails
}

// String is the mean with the lowest and the highest value.
func (s Spread) String() string {
	if s.N < 2 || s.Low == s.High {
		return report.Short(s.Mean)
	}
	return fmt.Sprintf("%s (%s to %s)", report.Short(s.Mean), report.Short(s.Low), report.Short(s.High))
}

// scorecard puts all rows and figures together.
func (e *evidence) scorecard() *Scorecard {
	c := &Scorecard{Scale: e.Scale, Text: e.text}
	c.Rows = append(c.Rows, e.lawRows()...)
	type rows = []func(*evidence) Row
	early := e.early()
	for _, row := range (rows{(*evidence).s7, (*evidence).s8, (*evidence).s9}) {
		c.Rows = append(c.Rows, e.atBoth(early, row))
	}
	c.Rows = append(c.Rows, e.s12(), e.c1(), e.c2(), e.atBoth(early, (*evidence).c3), e.c4())
	for _, row := range (rows{(*evidence).c5, (*evidence).c6, (*evidence).c7, (*evidence).c8}) {
		c.Rows = append(c.Rows, e.atBoth(early, row))
	}
	c.Rows = append(c.Rows, e.c9(), e.atBoth(early, (*evidence).c10), e.c11(), e.c12())
	for _, row := range (rows{(*evidence).c13, (*evidence).c14}) {
		c.Rows = append(c.Rows, e.atBoth(early, row))
	}
	c.Rows = append(c.Rows, e.c15(), e.atBoth(early, (*evidence).c16), e.c17(), e.c18())
	c.Figures = e.figures()
	return c
}

// lawRows are S1 to S6: the laws of models before training, one row an ID.
func (e *evidence) lawRows() []Row {
	var all []Row
	for _, law := range Laws() {
		v := law.Measure(e.init.Depths(law.Variant, 0))
		verdict := CannotTell
		if !math.IsNaN(v) {
			verdict = when(law.Holds(v))
		}
		measured := fmt.Sprintf("%s: %.2f (band %g to %g)", law.what, v, law.Low, law.High)
		if n := len(all); n > 0 && all[n-1].ID == law.ID {
			all[n-1].Claim += "; " + law.Claim
			all[n-1].Measured += "; " + measured
			if verdict != Holds {
				all[n-1].Verdict = verdict
			}
			continue
		}
		all = append(all, Row{ID: law.ID, Claim: law.Variant + ": " + law.Claim, Source: law.Source, Measured: measured, Verdict: verdict,
			Note: fmt.Sprintf("set-up norms before training, L = %s, %d seeds", list(e.Init.Depths), len(e.Init.Seeds))})
	}
	return all
}

// ofRuns sums a figure of runs up over seeds. Runs without it, because they diverged, are left out.
func ofRuns(runs []CellResult, figure func(CellResult) float64) Spread {
	var values []float64
	for _, r := range runs {
		if v := figure(r); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return SpreadOf(values...)
}

// after gives a figure of the look after training, NaN where there is none.
func after(figure func(*Look) float64) func(CellResult) float64 {
	return func(r CellResult) float64 {
		if r.After == nil {
			return math.NaN()
		}
		return figure(r.After)
	}
}

// before gives a figure of the look before training.
func before(figure func(*Look) float64) func(CellResult) float64 {
	return func(r CellResult) float64 { return figure(r.Before) }
}

// ofPaths sums a figure of paths of one variant up over seeds.
func ofPaths(paths []Path, variant string, figure func(Path) float64) Spread {
	var values []float64
	for _, p := range paths {
		if p.Variant == variant {
			values = append(values, figure(p))
		}
	}
	return SpreadOf(values...)
}

func (e *evidence) ofPaths(variant string, figure func(Path) float64) Spread {
	return ofPaths(e.paths, variant, figure)
}

// ofModels sums a figure of untrained models of one variant and depth up over seeds.
func (r InitResult) ofModels(variant string, layers int, figure func(Snapshot) float64) Spread {
	var values []float64
	for _, m := range r.Models {
		if m.Variant == variant && m.Layers == layers {
			values = append(values, figure(m))
		}
	}
	return SpreadOf(values...)
}

// place finds a place of the grid of a depth.
func (e *evidence) place(depth int, placement string, rate float64, warmup int) Place {
	for _, p := range e.grids[depth] {
		if p.Placement == placement && p.Rate == rate && p.Warmup == warmup {
			return p
		}
	}
	return Place{Placement: placement}
}

// thirds are the means of the first and the last third of values.
func thirds(x []float64) (first, last float64) {
	n := max(1, len(x)/3)
	return mean(x[:n]), mean(x[len(x)-n:])
}

// ratio is the largest over the smallest.
func ratio(x []float64) float64 { return slices.Max(x) / slices.Min(x) }

// Count is how many rows have each verdict, in words.
func (c *Scorecard) Count() string {
	n := map[Verdict]int{}
	for _, r := range c.Rows {
		n[r.Verdict]++
	}
	return fmt.Sprintf("Of %d claims %d hold, %d do not hold and %d cannot be told at this size.", len(c.Rows), n[Holds], n[Fails], n[CannotTell])
}

// Table is the scorecard as a table.
func (c *Scorecard) Table() report.Table {
	t := report.Table{Name: "scorecard", Columns: []string{"", "claim", "verdict", "measured", "source"}, Marks: map[int]string{},
		Raw: &report.Table{Columns: []string{"id", "claim", "source", "measured", "verdict", "note"}}}
	marks := map[Verdict]string{Holds: "holds", Fails: "fails", CannotTell: "unsure"}
	for _, r := range c.Rows {
		t.Marks[len(t.Rows)] = marks[r.Verdict]
		measured := r.Measured
		if r.Note != "" {
			measured = strings.TrimSuffix(measured, ".") + ". " + capital(r.Note) + "."
		}
		t.Row(r.ID, r.Claim, r.Verdict, measured, r.Source)
		t.Raw.Full(r.ID, r.Claim, r.Source, r.Measured, r.Verdict, r.Note)
	}
	return t
}

// capital begins a sentence.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// Report is the scorecard's page.
func (c *Scorecard) Report() report.Report {
	s := c.Scale
	g := Grid{Model: s.Model, Train: s.Train, Seeds: s.Seeds}
	g.Model.Layers = s.Deep
	page := report.Report{
		Title: "What is said of norm placements, measured",
		Lead: c.Count() + " The models are tiny and trained for minutes: a claim that does not hold here may hold at the size it was made for, and the other way round. " +
			"What a row shows is whether the effect is there in this set-up.",
		Facts: append([]report.Fact{{Name: "Scale", Value: s.Name}}, g.facts(c.Text)...),
	}
	page.Facts = append(page.Facts, report.Fact{Name: "Depths of trained models", Value: list(s.Depths)}, report.Fact{Name: "Rates", Value: list(s.Rates)})
	page.Sections = []report.Section{{Title: "Scorecard", Figures: []report.Figure{c.Card()}, Tables: []report.Table{c.Table()}}, {Title: "Plots", Figures: c.Figures}}
	return page
}

// Text is the scorecard for a terminal, one claim a paragraph.
func (c *Scorecard) String() string {
	var b strings.Builder
	for _, r := range c.Rows {
		fmt.Fprintf(&b, "%-4s %-15s %s\n", r.ID, strings.ToUpper(string(r.Verdict)), r.Claim)
		fmt.Fprintf(&b, "     measured  %s\n", r.Measured)
		if r.Note != "" {
			fmt.Fprintf(&b, "     how       %s\n", r.Note)
		}
		fmt.Fprintf(&b, "     source    %s\n\n", r.Source)
	}
	return b.String() + c.Count() + "\n"
}
