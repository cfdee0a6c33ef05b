package lab

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWiden wants runs of earlier grids to be shown beside those of a later one, where nothing but placement, rate, warm-up and seed is different.
func TestWiden(t *testing.T) {
	dir := t.TempDir()
	run := func(change func(*Grid)) (Grid, []Place, int) {
		g := littleGrid()
		g.Train.Steps, g.Placements, g.Rates, g.Seeds = 3, []string{"pre"}, []float64{1e-3}, []int64{1}
		change(&g)
		r, _ := counting(t, dir, 1)
		places, err := g.Run(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		g, places, added, err := g.Widen(r, places)
		if err != nil {
			t.Fatal(err)
		}
		return g, places, added
	}
	if _, places, added := run(func(g *Grid) {}); added != 0 || len(places) != 1 {
		t.Errorf("a fresh folder: %d added, %d places", added, len(places))
	}
	if err := os.Mkdir(filepath.Join(dir, CellsFolder, "notes"), 0o777); err != nil {
		t.Fatal(err)
	}
	run(func(g *Grid) { g.Train.Steps = 4 }) // another run file
	run(func(g *Grid) { g.Seeds, g.Rates = []int64{2}, []float64{1e-3, 3e-3} })
	g, places, added := run(func(g *Grid) { g.Placements, g.Warmups = []string{"post"}, []int{0, 1} })
	if added != 3 || list(g.Placements) != "post, pre" || list(g.Rates) != "0.001, 0.003" || list(g.Seeds) != "1, 2" || list(g.Warmups) != "0, 1" {
		t.Fatalf("%d added: %v, rates %v, seeds %v, warm-ups %v", added, g.Placements, g.Rates, g.Seeds, g.Warmups)
	}
	var words []string
	for _, p := range places {
		for _, r := range p.Runs {
			words = append(words, r.Label)
		}
	}
	if len(places) != 4 || len(places[2].Runs) != 2 || places[2].Rate != 1e-3 || !strings.Contains(strings.Join(words, "|"), "pre lr 0.003 warm-up 0 seed 2") {
		t.Errorf("%d places: %q", len(places), words)
	}
	page := g.CompareReport(littleText(t), places)
	if n := len(page.Sections[0].Tables[0].Rows); n != 2 || !strings.Contains(page.Lead, "seeds: ") {
		t.Errorf("%d rows, %q", n, page.Lead)
	}
	if n := len(g.RatesReport(littleText(t), places).Sections[0].Tables[0].Rows); n != 2 {
		t.Errorf("%d rows of advice", n)
	}
	if s := page.Sections[1].Figures[0].Series; len(s) != 3 {
		t.Errorf("%d series", len(s))
	}
}
