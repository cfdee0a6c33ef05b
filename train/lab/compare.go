package lab

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"prenorm/train/lab/report"
)

// facts are what pages say of a grid.
func (g Grid) facts(t *Text) []report.Fact {
	c, tr := g.Model.Resolved(), g.Train.Resolved()
	return []report.Fact{
		{Name: "Model", Value: fmt.Sprintf("%d blocks, width %d, %d heads, context %d, %s, %s", c.Layers, c.Width, c.Heads, c.Context, c.Norm.Kind, c.MLP)},
		{Name: "Budget", Value: fmt.Sprintf("%d steps of %d tokens", tr.Steps, tr.Batch*c.Context*max(tr.Accumulate, 1))},
		{Name: "Optimizer", Value: fmt.Sprintf("%s, %s schedule, clip %g", tr.Optimizer.Kind, tr.Schedule.Kind, tr.Clip)},
		{Name: "Text", Value: t.Name},
		{Name: "Reference lines", Value: fmt.Sprintf("uniform %.3f, unigram %.3f, bigram %.3f nats a token", math.Log(float64(t.Vocab)), t.Unigram, t.Bigram)},
		{Name: "Seeds", Value: list(g.Seeds)},
	}
}

// CompareReport turns a trained grid into a page.
func (g Grid) CompareReport(t *Text, places []Place) report.Report {
	page := report.Report{Title: "Placements side by side", Lead: g.verdict(places), Facts: g.facts(t)}
	sweep := report.Section{Title: "Loss by learning rate",
		Text:    "Each placement has its own best rate, so a comparison at one rate says little.",
		Figures: []report.Figure{g.sweep(t, places)}, Tables: []report.Table{placesTable(places)}}
	curves := report.Section{Title: "Training at each placement's best rate", Figures: []report.Figure{g.curves(t, places), g.gradients(places)}}
	page.Sections = []report.Section{{Title: "At the best rate of each", Tables: []report.Table{g.bestTable(places)}}, sweep, curves}
	return page
}

// verdict is the ranking in a sentence, with the seeds' spread to hold it against.
func (g Grid) verdict(places []Place) string {
	var words []string
	ranking := g.ranking(places)
	unequal := slices.ContainsFunc(ranking, func(p Place) bool { return len(p.Runs) != len(ranking[0].Runs) })
	for _, p := range ranking {
		v := p.Loss()
		seeds := ""
		if unequal {
			seeds = fmt.Sprintf(", seeds: %d", len(p.Runs))
		}
		words = append(words, fmt.Sprintf("%s %.3f (%.3f to %.3f%s)", p.Placement, v.Mean, v.Low, v.High, seeds))
	}
	return "Validation loss at the best learning rate of each, with the range over seeds: " + strings.Join(words, "; ") + ". Differences smaller than the ranges say nothing."
}

// ranking is the best place of each placement, the best first.
func (g Grid) ranking(places []Place) []Place {
	var best []Place
	for _, name := range g.Placements {
		if p, ok := Best(places, name); ok {
			best = append(best, p)
		}
	}
	slices.SortStableFunc(best, func(a, b Place) int { return cmp.Compare(a.bounded(), b.bounded()) })
	return best
}

func (g Grid) bestTable(places []Place) report.Table {
	t := report.Table{Name: "best", Columns: []string{"placement", "best rate", "warm-up", "validation loss", "lowest", "highest", "outcome", "parameters", "fastest step, ms"},
		Note: "Losses in nats a token, the mean over seeds with the lowest and the highest. fastest step: the quickest update of all runs of the row. Outcomes are explained below the next table."}
	for _, p := range g.ranking(places) {
		v := p.Loss()
		ms := math.Inf(1)
		for _, r := range p.Runs {
			ms = min(ms, 1e3*r.Fastest)
		}
		t.Row(p.Placement, fmt.Sprintf("%g", p.Rate), p.Warmup, fmt.Sprintf("%.4f", v.Mean), fmt.Sprintf("%.4f", v.Low), fmt.Sprintf("%.4f", v.High), p.Outcome(), p.Runs[0].Params, ms)
	}
	return t
}

// placesTable has a row for every place, and in its file one for every run.
func placesTable(places []Place) report.Table {
	t := report.Table{Name: "places", Caption: "All rates", Note: outcomesNote, Columns: []string{"placement", "rate", "warm-up", "validation loss", "lowest", "highest", "outcome"}, Marks: map[int]string{},
		Raw: &report.Table{Columns: []string{"placement", "rate", "warmup", "run", "outcome", "steps", "final_training_loss", "validation_loss", "seconds"}}}
	for _, p := range places {
		v := p.Loss()
		if p.Failed() > 0 {
			t.Marks[len(t.Rows)] = "fails"
		}
		t.Row(p.Placement, fmt.Sprintf("%g", p.Rate), p.Warmup, v.Mean, v.Low, v.High, p.Outcome())
		for i, r := range p.Runs {
			t.Raw.Full(p.Placement, p.Rate, p.Warmup, i+1, r.Outcome, r.Reached, r.Final(), float64(r.Val), r.Seconds)
		}
	}
	return t
}

// sweep is the loss over the rate.
func (g Grid) sweep(t *Text, places []Place) report.Figure {
	f := report.Figure{Name: "sweep", Title: "Validation loss by learning rate", X: "learning rate", Y: "nats a token", LogX: true,
		Lines: []report.Line{{Name: "unigram entropy", Y: t.Unigram}},
		Note:  "Lines are means over the seeds whose runs did not diverge, and bands reach from the lowest to the highest of these. A rate at which all diverged has no point: see the table."}
	if len(g.Rates) <= 8 {
		f.Ticks = g.Rates
	}
	for _, name := range g.Placements {
		for _, warmup := range g.warmups() {
			s := report.Series{Name: name}
			if len(g.warmups()) > 1 {
				s.Name = fmt.Sprintf("%s %d warm", name, warmup)
			}
			for _, p := range Of(places, name, warmup) {
				v := p.converged().Loss()
				s.X, s.Y, s.Low, s.High = append(s.X, p.Rate), append(s.Y, v.Mean), append(s.Low, v.Low), append(s.High, v.High)
			}
			if len(s.X) > 0 { // runs of earlier commands need not have every warm-up
				f.Series = append(f.Series, s)
			}
		}
	}
	return f
}

// curves are the training losses at the best rates, means over seeds of sliding means.
func (g Grid) curves(t *Text, places []Place) report.Figure {
	f := report.Figure{Name: "curves", Title: "Training loss at each placement's best rate", X: "step", Y: "nats a token",
		Lines: []report.Line{{Name: "unigram entropy", Y: t.Unigram}}, Note: "Sliding means over a fiftieth of the run; bands over seeds."}
	for _, name := range g.Placements {
		if p, ok := Best(places, name); ok {
			f.Series = append(f.Series, curve(fmt.Sprintf("%s %g", name, p.Rate), p.Runs, func(r CellResult) []float64 { return r.Losses }))
		}
	}
	return f
}

// gradients are the gradient norms at the best rates.
func (g Grid) gradients(places []Place) report.Figure {
	f := report.Figure{Name: "gradients", Title: "Gradient norm before clipping", X: "step", Y: "global norm", LogY: true}
	for _, name := range g.Placements {
		if p, ok := Best(places, name); ok {
			f.Series = append(f.Series, curve(fmt.Sprintf("%s %g", name, p.Rate), p.Runs, func(r CellResult) []float64 { return r.Norms }))
		}
	}
	return f
}

// curve smooths a course of every run and sums it up over them.
func curve(name string, runs []CellResult, of func(CellResult) []float64) report.Series {
	s := report.Series{Name: name}
	longest := 0
	for _, r := range runs {
		longest = max(longest, len(of(r)))
	}
	window := max(1, longest/50)
	for at := window; at <= longest; at += max(1, window/2) {
		var values []float64
		for _, r := range runs {
			if x := of(r); len(x) >= at {
				values = append(values, mean(x[at-window:at]))
			}
		}
		v := SpreadOf(values...)
		s.X, s.Y, s.Low, s.High = append(s.X, float64(at)), append(s.Y, v.Mean), append(s.Low, v.Low), append(s.High, v.High)
	}
	return s
}

// Progress is a line on one result for people.
func Progress(done, all int, r CellResult, kept bool, began time.Time) string {
	how := fmt.Sprintf("%.0f s in all", time.Since(began).Seconds())
	if kept {
		how = "kept from before"
	}
	return fmt.Sprintf("%d of %d  %s: %s, training loss %s, validation loss %s  (%s)", done, all, r.Label, r.Outcome, loss(r.Final()), loss(float64(r.Val)), how)
}

// loss writes a loss, or a dash where there is none.
func loss(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf("%.3f", v)
}
