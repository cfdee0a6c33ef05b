package lab

import (
	"strings"
	"testing"

	"prenorm/train/metrics"
)

// TestCompareReport holds the ranking and the tables against runs by hand.
func TestCompareReport(t *testing.T) {
	run := func(val, fastest float64, o Outcome) CellResult {
		r := CellResult{Val: metrics.Float(val), Outcome: o, Fastest: fastest, Params: 99, FinalRun: 2.5, Reached: 100, Seconds: 7}
		for i := range 100 {
			r.Losses, r.Norms = append(r.Losses, 5-float64(i)/100), append(r.Norms, 1)
		}
		return r
	}
	g := Grid{Placements: []string{"post", "pre"}, Rates: []float64{1e-3, 1e-2}, Seeds: []int64{1, 2}, Warmups: []int{0}}
	places := []Place{
		{Placement: "post", Rate: 1e-3, Runs: []CellResult{run(3, 4e-3, Trains), run(3.25, 3e-3, Trains)}},
		{Placement: "post", Rate: 1e-2, Runs: []CellResult{run(3.5, 1e-3, Plateau), run(3.5, 1e-3, Trains)}},
		{Placement: "pre", Rate: 1e-3, Runs: []CellResult{run(2.75, 1e-3, Trains), run(3, 1e-3, Trains)}},
		{Placement: "pre", Rate: 1e-2, Runs: []CellResult{run(2.5, 2e-3, Trains), run(2.75, 2.5e-3, Trains)}},
	}
	page := g.CompareReport(&Text{Vocab: 256, Unigram: 3.4}, places)
	if want := "pre 2.625 (2.500 to 2.750); post 3.125 (3.000 to 3.250)."; !strings.Contains(page.Lead, want) {
		t.Errorf("%q, want %q", page.Lead, want)
	}
	rows := page.Sections[0].Tables[0].Rows
	for i, want := range []string{"pre 0.01 0 2.6250 2.5000 2.7500 trains 99 2.00", "post 0.001 0 3.1250 3.0000 3.2500 trains 99 3.00"} {
		if got := strings.Join(rows[i], " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	all := page.Sections[1].Tables[0]
	if got := strings.Join(all.Rows[1], " "); got != "post 0.01 0 3.50 3.50 3.50 1 trains, 1 unigram" || all.Marks[1] != "fails" || all.Marks[0] != "" {
		t.Errorf("%q, marks %v", got, all.Marks)
	}
	if got := strings.Join(all.Raw.Rows[1], " "); got != "post 0.001 0 2 trains 100 2.5 3.25 7" {
		t.Errorf("%q", got)
	}
	// Means over two steps, taken every step: 4.995 after the second.
	if s := page.Sections[2].Figures[0].Series[1]; s.Name != "pre 0.01" || len(s.X) != 99 || s.X[0] != 2 || s.Y[0] != 4.995 || s.X[98] != 100 {
		t.Errorf("curve %q of %d values: %v, %v", s.Name, len(s.X), s.X[:2], s.Y[:2])
	}
}
