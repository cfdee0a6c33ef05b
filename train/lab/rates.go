package lab

import (
	"fmt"
	"math"

	"prenorm/train/lab/report"
)

// Advice is what a sweep of rates says of one placement.
type Advice struct {
	Placement   string
	Sensitivity float64 // without warm-up differences: over all rates at the advised warm-up
	Stable      float64 // largest rate up to which nothing failed, at the advised warm-up
	Open        bool    // nothing failed at the largest rate that was tried
	Best        Place
	Rate        float64 // advised
	Warmup      int     // advised
	Why         string
}

// withinNoise is how much worse, in nats, a shorter warm-up may be and still be advised; the spread of seeds counts where it is larger.
const withinNoise = 0.01

// Advise reads a sweep.
func (g Grid) Advise(places []Place) []Advice {
	var all []Advice
	for _, name := range g.Placements {
		best, ok := Best(places, name)
		if !ok {
			continue
		}
		a := Advice{Placement: name, Warmup: best.Warmup, Best: best}
		spread := best.Loss()
		noise := max(withinNoise, spread.High-spread.Low)
		for _, warmup := range g.warmups() { // ascending: the shortest that is as good
			row := Of(places, name, warmup)
			if low, ok := Best(row, name); ok && low.bounded() <= best.bounded()+noise && LargestStable(row) >= low.Rate {
				a.Best, a.Warmup = low, warmup
				break
			}
		}
		row := Of(places, name, a.Warmup)
		a.Sensitivity, a.Stable = Sensitivity(row), LargestStable(row)
		a.Open = a.Stable == row[len(row)-1].Rate
		a.Rate, a.Why = advised(a)
		all = append(all, a)
	}
	return all
}

// advised keeps a factor of two from the edge: a longer run meets more batches that could push it over.
func advised(a Advice) (rate float64, why string) {
	switch {
	case a.Stable == 0:
		return math.NaN(), "runs failed at every rate from the smallest on: try smaller ones"
	case a.Open:
		return a.Best.Rate, "the best that was tried; nothing failed up to the largest rate"
	case a.Best.Rate > a.Stable:
		return a.Stable / 2, "half of the largest stable rate; the best loss was at a larger one, but runs failed there or below it"
	case a.Best.Rate > a.Stable/2:
		return a.Stable / 2, "half of the largest stable rate, as the best one is next to the edge"
	}
	return a.Best.Rate, "the best that was tried, at least a factor of two from the edge"
}

// RatesReport turns a sweep into a page.
func (g Grid) RatesReport(t *Text, places []Place) report.Report {
	table := report.Table{Name: "rates", Columns: []string{"placement", "largest stable rate", "sensitivity", "best rate", "loss there", "advised rate", "advised warm-up", "why"}}
	bars := report.Figure{Name: "sensitivity", Title: "Sensitivity to the learning rate", X: "placement", Y: "nats a token", Bars: true,
		Note: "The mean over rates of how far the loss is above that of the best rate, with the untrained model's loss as the most (Wortsman et al. 2023, arXiv 2309.14322)."}
	var s report.Series
	for _, a := range g.Advise(places) {
		if best := a.Best.Loss().Mean; best > t.Unigram-plateauBelow {
			a.Rate, a.Why = math.NaN(), fmt.Sprintf("nothing got well below the unigram entropy, %.3f: train for longer, or try larger rates", t.Unigram)
		}
		stable := fmt.Sprintf("%g", a.Stable)
		if a.Open {
			stable = ">= " + stable
		}
		rate := fmt.Sprintf("%g", a.Rate)
		if math.IsNaN(a.Rate) {
			rate = "–"
		}
		table.Row(a.Placement, stable, a.Sensitivity, fmt.Sprintf("%g", a.Best.Rate), fmt.Sprintf("%.3f", a.Best.Loss().Mean), rate, a.Warmup, a.Why)
		bars.Labels, s.Y = append(bars.Labels, a.Placement), append(s.Y, a.Sensitivity)
	}
	bars.Series = []report.Series{s}
	return report.Report{
		Title: "Which learning rate",
		Lead:  "A rate is stable when no run at it or at a smaller one diverged, fell back, or sat at the unigram entropy. Advice holds for this model, text and budget; larger models want smaller rates.",
		Facts: g.facts(t),
		Sections: []report.Section{
			{Title: "Advice", Tables: []report.Table{table}, Figures: []report.Figure{bars}},
			{Title: "The sweep", Figures: []report.Figure{g.sweep(t, places)}, Tables: []report.Table{placesTable(places)}},
		},
	}
}
