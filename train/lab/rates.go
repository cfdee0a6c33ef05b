package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"prenorm/train/lab/report"
)

// Advice is what a sweep of rates says of one placement. All of it but Failing is of runs with the advised warm-up.
type Advice struct {
	Placement   string
	Sensitivity float64
	Stable      float64 // largest rate up to which nothing failed, 0 = there were failures at the smallest
	Open        bool    // nothing failed at the largest rate that was tried
	Falling     bool    // nothing failed at the largest rate, and its loss is lower than that of the next
	Best        Place
	Rate        float64 // advised, NaN = none
	Warmup      int     // advised
	Why         string
	Failing     []string // other warm-ups with which runs failed, and the smallest rate of such a failure
}

// withinNoise is how much worse, in nats, a shorter warm-up may be and still be advised; the spread of seeds counts where it is larger.
const withinNoise = 0.01

// Advise reads a sweep. For each placement it is about one warm-up: the shortest whose best rate is stable and as good as the best of all.
func (g Grid) Advise(t *Text, places []Place) []Advice {
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
		top := row[len(row)-1]
		a.Sensitivity, a.Stable = Sensitivity(row), LargestStable(row)
		a.Open = a.Stable == top.Rate
		a.Falling = len(row) > 1 && top.Failed() == 0 && row[len(row)-2].bounded() > top.bounded()+withinNoise
		a.Failing = g.failing(places, name, a.Warmup)
		a.Rate, a.Why = g.advised(a, t)
		if len(a.Failing) > 0 {
			a.Why += "; runs failed with " + strings.Join(a.Failing, ", ")
		}
		all = append(all, a)
	}
	return all
}

// failing names the warm-ups of a placement, but for one, with which runs failed, each with the smallest rate of a failure.
func (g Grid) failing(places []Place, name string, but int) []string {
	var words []string
	for _, warmup := range g.warmups() {
		row := Of(places, name, warmup)
		at := slices.IndexFunc(row, func(p Place) bool { return p.Failed() > 0 })
		if warmup != but && at >= 0 {
			words = append(words, fmt.Sprintf("warm-up %d at rate %g", warmup, row[at].Rate))
		}
	}
	return words
}

// advised keeps a factor of two from the edge: a longer run meets more batches that could push it over. What is advised follows from the rates that
// were tried: smaller ones where the smallest failed, larger ones only where the loss still falls at the largest.
func (g Grid) advised(a Advice, t *Text) (rate float64, why string) {
	learnt := a.Best.Loss().Mean <= t.Unigram-plateauBelow
	switch {
	case a.Stable == 0 && a.Best.Failed() == 0 && learnt:
		return math.NaN(), fmt.Sprintf("runs failed at the smallest rate, though not at %g: try more steps or seeds, and %s", a.Best.Rate, g.longer())
	case a.Stable == 0:
		return math.NaN(), "runs failed at the smallest rate already: try smaller ones, or " + g.longer()
	case !learnt && a.Falling:
		return math.NaN(), fmt.Sprintf("nothing got well below the unigram entropy, %.3f, and the loss still falls with the rate: try larger rates, or train for longer", t.Unigram)
	case !learnt:
		return math.NaN(), fmt.Sprintf("nothing got well below the unigram entropy, %.3f: train for longer, or try %s", t.Unigram, g.longer())
	case a.Open:
		return a.Best.Rate, fmt.Sprintf("the best that was tried; with warm-up %d nothing failed up to the largest rate", a.Warmup)
	case a.Best.Rate > a.Stable:
		return a.Stable / 2, "half of the largest stable rate; the best loss was at a larger one, but runs failed there or below it"
	case a.Best.Rate > a.Stable/2:
		return a.Stable / 2, "half of the largest stable rate, as the best one is next to the edge"
	}
	return a.Best.Rate, "the best that was tried, at least a factor of two from the edge"
}

// longer is the warm-up that is left to try.
func (g Grid) longer() string {
	if most := slices.Max(g.warmups()); most > 0 {
		return fmt.Sprintf("a warm-up of more than %d steps", most)
	}
	return "a warm-up"
}

// RatesReport turns a sweep into a page.
func (g Grid) RatesReport(t *Text, places []Place) report.Report {
	table := report.Table{Name: "rates", Columns: []string{"placement", "advised warm-up", "largest stable rate", "sensitivity", "best rate", "loss there", "advised rate", "why"},
		Note: "Every row is about runs with the advised warm-up: the shortest whose best rate is stable and as good as the best of all, else that of the lowest loss. Sensitivity: the mean over rates of how far the loss, in nats, " +
			"is above that of the best rate. Loss: validation, the mean over seeds."}
	bars := report.Figure{Name: "sensitivity", Title: "Sensitivity to the learning rate", X: "placement", Y: "nats a token", Bars: true,
		Note: "The mean over rates of how far the loss is above that of the best rate, with the untrained model's loss as the most (Wortsman et al. 2023, arXiv 2309.14322)."}
	var s report.Series
	for _, a := range g.Advise(t, places) {
		stable := fmt.Sprintf("%g", a.Stable)
		switch {
		case a.Stable == 0:
			stable = "none of those tried"
		case a.Open:
			stable = ">= " + stable
		}
		rate := fmt.Sprintf("%g", a.Rate)
		if math.IsNaN(a.Rate) {
			rate = "–"
		}
		table.Row(a.Placement, a.Warmup, stable, a.Sensitivity, fmt.Sprintf("%g", a.Best.Rate), fmt.Sprintf("%.3f", a.Best.Loss().Mean), rate, a.Why)
		bars.Labels, s.Y = append(bars.Labels, a.Placement), append(s.Y, a.Sensitivity)
	}
	bars.Series = []report.Series{s}
	return report.Report{
		Title: "Which learning rate",
		Lead:  "With a given warm-up a rate is stable when no run with that warm-up, at the rate or at a smaller one, diverged, jumped, fell back, or sat at the unigram entropy. Advice holds for this model, text and budget; larger models want smaller rates.",
		Facts: g.facts(t),
		Sections: []report.Section{
			{Title: "Advice", Tables: []report.Table{table}, Figures: []report.Figure{bars}},
			{Title: "The sweep", Figures: []report.Figure{g.sweep(t, places)}, Tables: []report.Table{placesTable(places)}},
		},
	}
}
