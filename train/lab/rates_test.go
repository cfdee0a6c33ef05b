package lab

import (
	"slices"
	"strings"
	"testing"
	"time"

	"prenorm/train/metrics"
)

// placed is a place of one run that started at a loss of 5.
func placed(warmup int, rate, val float64, o Outcome) Place {
	return Place{Placement: "post", Rate: rate, Warmup: warmup, Runs: []CellResult{{Losses: Values{5}, Val: metrics.Float(val), Outcome: o}}}
}

// TestAdviceFollows wants advice to follow from the rates that were tried: smaller ones or a warm-up where the smallest failed, and larger ones only
// where the loss still falls at the largest.
func TestAdviceFollows(t *testing.T) {
	for _, c := range []struct {
		name              string
		places            []Place
		stable, why, none string
	}{
		{"all at the unigram entropy", []Place{placed(0, 1e-3, 3.1, Plateau), placed(0, 1e-2, 3.05, Plateau)}, "none of those tried", "smallest rate already: try smaller ones, or a warm-up", "larger"},
		{"all diverged", []Place{placed(0, 1e-3, 9, Diverged), placed(0, 1e-2, 9, Diverged)}, "none of those tried", "try smaller ones", "larger"},
		{"the warm-up failed as well", []Place{placed(0, 1e-3, 3, Plateau), placed(20, 1e-3, 3, Plateau)}, "none of those tried", "a warm-up of more than 20 steps", "larger"},
		{"slow and falling", []Place{placed(0, 1e-3, 4, Slow), placed(0, 1e-2, 3.5, Slow)}, ">= 0.01", "still falls with the rate: try larger rates", "smaller"},
		{"slow and level", []Place{placed(0, 1e-3, 3.505, Slow), placed(0, 1e-2, 3.5, Slow)}, ">= 0.01", "train for longer, or try a warm-up", "larger"},
		{"slow below, failing above", []Place{placed(0, 1e-3, 4, Slow), placed(0, 1e-2, 3, Plateau)}, "0.001", "train for longer, or try a warm-up", "larger"},
		{"the smallest alone failed", []Place{placed(0, 1e-3, 3, Plateau), placed(0, 1e-2, 2, Trains)}, "none of those tried", "though not at 0.01", "larger"},
		{"another warm-up failed", []Place{placed(0, 1e-3, 2.5, Trains), placed(0, 1e-2, 2, Trains), placed(20, 1e-3, 2.5, Trains), placed(20, 1e-2, 3, Plateau)},
			">= 0.01", "with warm-up 0 nothing failed up to the largest rate; runs failed with warm-up 20 at rate 0.01", "smaller"},
	} {
		g := Grid{Placements: []string{"post"}, Seeds: []int64{1}}
		for _, p := range c.places {
			if !slices.Contains(g.Warmups, p.Warmup) {
				g.Warmups = append(g.Warmups, p.Warmup)
			}
		}
		row := g.RatesReport(&Text{Vocab: 60, Unigram: 3}, c.places).Sections[0].Tables[0].Rows[0]
		if row[2] != c.stable || !strings.Contains(row[7], c.why) || strings.Contains(row[7], c.none) {
			t.Errorf("%s: stable %q, %q; want %q, %q", c.name, row[2], row[7], c.stable, c.why)
		}
	}
}

// TestSweepWithoutDiverged wants the plot of losses by rate to leave out runs that diverged, though they ended at a finite loss.
func TestSweepWithoutDiverged(t *testing.T) {
	g := Grid{Placements: []string{"post"}, Rates: []float64{1e-2, 1e-1, 1}, Warmups: []int{0}}
	places := []Place{placed(0, 1e-2, 2, Trains), placed(0, 1e-1, 2.5, Trains), placed(0, 1, 6.12, Diverged)}
	places[1].Runs = append(places[1].Runs, placed(0, 1e-1, 7, Diverged).Runs...)
	text := &Text{Vocab: 60, Unigram: 3}
	figure := g.sweep(text, places)
	s := figure.Series[0]
	if !strings.Contains(figure.Note, "A rate at which all diverged has no point") {
		t.Errorf("below the figure: %q", figure.Note)
	}
	if s.Y[1] != 2.5 || s.High[1] != 2.5 || s.Y[2] == s.Y[2] {
		t.Errorf("losses %v, highest %v", s.Y, s.High)
	}
	if row := placesTable(places).Rows[2]; row[3] != "6.12" || row[6] != "diverged" {
		t.Errorf("the table has %q", row)
	}
	line := Progress(1, 2, CellResult{Label: "x", Outcome: Trains, FinalRun: 2.25, Val: 2.5}, true, time.Now())
	if want := "x: trains, training loss 2.250, validation loss 2.500  (kept"; !strings.Contains(line, want) {
		t.Errorf("%q, want %q", line, want)
	}
}
