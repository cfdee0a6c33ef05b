package lab

import (
	"fmt"
	"math"
	"strings"

	"prenorm/train/lab/report"
)

// Report turns the measurement into a page.
func (r InitResult) Report() report.Report {
	o := r.Options
	setup := Setups()[o.Setup]
	page := report.Report{
		Title: "Before training: how depth shows",
		Lead: "Each model is drawn and run once, forward and backward, over random tokens. Nothing is trained. " +
			"What depends on depth here is the placement's doing, or its initialisation's.",
		Facts: []report.Fact{{Name: "Set-up", Value: o.Setup + ": " + setup.About}, {Name: "Depths", Value: list(o.Depths)},
			{Name: "Seeds", Value: list(o.Seeds)}, {Name: "Batch", Value: fmt.Sprintf("%d × %d random tokens", setup.B, setup.T)}},
	}
	if len(r.Models) > 0 {
		page.Facts = append(page.Facts, report.Fact{Name: "Width", Value: list(r.widths())})
	}
	if o.Kind != "" {
		page.Facts = append(page.Facts, report.Fact{Name: "Initial values", Value: o.Kind + " for all"})
	}
	for _, width := range r.widths() {
		page.Sections = append(page.Sections, r.sections(width)...)
	}
	return page
}

// list writes values with commas.
func list[E any](values []E) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ", ")
}

// widths are the widths of the models, in order.
func (r InitResult) widths() []int {
	var all []int
	seen := map[int]bool{}
	for _, m := range r.Models {
		if !seen[m.Width] {
			seen[m.Width] = true
			all = append(all, m.Width)
		}
	}
	return all
}

// of adds the width to a title where there are several.
func (r InitResult) of(width int) string {
	if len(r.widths()) < 2 {
		return ""
	}
	return fmt.Sprintf(", width %d", width)
}

func (r InitResult) sections(width int) []report.Section {
	suffix := strings.ReplaceAll(r.of(width), ", width ", "-")
	first := report.Section{Title: "By depth" + r.of(width),
		Text:   "The exponent p is the least-squares fit of c·L^p in logarithms, L the number of blocks. The gradient is that of the MLP's last matrix in the last block.",
		Tables: []report.Table{r.table(width, suffix)}}
	if len(r.Options.Depths) > 1 {
		first.Figures = []report.Figure{
			r.byDepth(width, "gradient-by-depth"+suffix, "Gradient of the last block", "Frobenius norm", func(d Depth) Spread { return d.Last }),
			r.byDepth(width, "stream-by-depth"+suffix, "Size of the stream after the last block", "RMS", func(d Depth) Spread { return d.Stream }),
		}
	}
	deepest := r.Options.Depths[len(r.Options.Depths)-1]
	second := report.Section{Title: fmt.Sprintf("Inside %d blocks%s", deepest, r.of(width)), Text: "Means over seeds.", Figures: []report.Figure{
		r.byBlock(width, "stream-by-block"+suffix, "The stream on its way up", "RMS", func(d Depth) []float64 { return d.Streams }, 0),
		r.byBlock(width, "gradient-by-block"+suffix, "Gradient of each block's last MLP matrix", "Frobenius norm", func(d Depth) []float64 { return d.Downs }, 1),
	}}
	if r.Options.Setup == "norms" {
		first.Tables = append(first.Tables, r.laws(width, suffix))
	}
	return []report.Section{first, second}
}

// table is the summary by variant.
func (r InitResult) table(width int, suffix string) report.Table {
	t := report.Table{Name: "init" + suffix, Caption: "Last block's gradient, and the stream's size", Columns: []string{"placement"}, Raw: r.raw(width)}
	for _, d := range r.Options.Depths {
		t.Columns = append(t.Columns, fmt.Sprintf("L=%d", d))
	}
	t.Columns = append(t.Columns, "p of gradient")
	deepest := r.Options.Depths[len(r.Options.Depths)-1]
	t.Note = "L=…: Frobenius norm of the gradient of the last block's last MLP matrix in a model of so many blocks, the mean over seeds. p: the exponent of the fit c·L^p. "
	withReference := r.Options.Setup == "norms" && r.Options.Kind == ""
	if withReference {
		t.Columns = append(t.Columns, "independent")
		t.Note += "independent: p of the same gradient as another program measured it, in float64 with other seeds. "
	}
	t.Columns = append(t.Columns, "first/last", "stream", "p of stream")
	t.Note += fmt.Sprintf("first/last: that gradient in the first block over that in the last, L=%d. stream: RMS of the residual stream after the last block, L=%d; "+
		"of residual's two streams it is the second, which no norm rescales. A dash: no fit, or no reference.", deepest, deepest)
	for _, name := range r.Options.Variants {
		depths := r.Depths(name, width)
		if len(depths) == 0 {
			continue
		}
		gradient, size := Slopes(depths)
		row := []any{name}
		for _, d := range depths {
			row = append(row, d.Last.Mean)
		}
		row = append(row, signed(gradient))
		if withReference {
			row = append(row, signed(Reference(name)))
		}
		last := depths[len(depths)-1]
		t.Row(append(row, last.First.Mean, last.Stream.Mean, signed(size))...)
	}
	return t
}

// signed is an exponent with its sign.
func signed(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return strings.Replace(fmt.Sprintf("%+.2f", v), "-0.00", "+0.00", 1)
}

// raw has a row for every block of every model.
func (r InitResult) raw(width int) *report.Table {
	t := &report.Table{Columns: []string{"variant", "width", "layers", "seed", "block", "stream_rms", "stream_gradient", "down_proj_gradient", "loss"}}
	for _, m := range r.Models {
		if m.Width != width {
			continue
		}
		for l := range m.Stream {
			down := math.NaN()
			if l > 0 {
				down = m.Down[l-1]
			}
			t.Full(m.Variant, m.Width, m.Layers, m.Seed, l, m.Stream[l], m.Grad[l], down, m.Loss)
		}
	}
	return t
}

func (r InitResult) byDepth(width int, name, title, y string, of func(Depth) Spread) report.Figure {
	f := report.Figure{Name: name, Title: title, X: "blocks", Y: y, LogX: true, LogY: true, Note: "Bands reach from the lowest to the highest seed. Both axes are logarithmic, so a power of depth is a straight line."}
	for _, d := range r.Options.Depths {
		f.Ticks = append(f.Ticks, float64(d))
	}
	for _, variant := range r.Options.Variants {
		s := report.Series{Name: variant}
		for _, d := range r.Depths(variant, width) {
			v := of(d)
			s.X, s.Y, s.Low, s.High = append(s.X, float64(d.Layers)), append(s.Y, v.Mean), append(s.Low, v.Low), append(s.High, v.High)
		}
		f.Series = append(f.Series, s)
	}
	return f
}

func (r InitResult) byBlock(width int, name, title, y string, of func(Depth) []float64, first int) report.Figure {
	f := report.Figure{Name: name, Title: title, X: "block", Y: y, LogY: true}
	if first == 0 {
		f.X = "block (0 is the embedding)"
	}
	for _, variant := range r.Options.Variants {
		depths := r.Depths(variant, width)
		if len(depths) == 0 {
			continue
		}
		s := report.Series{Name: variant, Y: of(depths[len(depths)-1])}
		for i := range s.Y {
			s.X = append(s.X, float64(i+first))
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// laws holds the measurement against published figures.
func (r InitResult) laws(width int, suffix string) report.Table {
	t := report.Table{Name: "laws" + suffix, Caption: "Held against published figures", Columns: []string{"", "placement", "claim", "band", "measured", "verdict", "source"}, Marks: map[int]string{}}
	for _, law := range Laws() {
		depths := r.Depths(law.Variant, width)
		if len(depths) < 2 {
			continue
		}
		v := law.Measure(depths)
		verdict, mark := "does not hold", "fails"
		if law.Holds(v) {
			verdict, mark = "holds", "holds"
		}
		t.Marks[len(t.Rows)] = mark
		t.Row(law.ID, law.Variant, law.Claim, fmt.Sprintf("%g to %g", law.Low, law.High), fmt.Sprintf("%.2f", v), verdict, law.Source)
	}
	return t
}
