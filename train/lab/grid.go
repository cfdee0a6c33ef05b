package lab

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"prenorm/model"
	"prenorm/train"
)

// Grid is a comparison of placements: each is trained at every learning rate with every seed, the rest being equal. Runs of one seed read the same
// batches in the same order.
type Grid struct {
	Model      model.Config
	Train      train.Config
	Placements []string
	Rates      []float64
	Seeds      []int64
	Warmups    []int // steps; nil = as Train says
}

// Place is one placement at one rate and warm-up, over all seeds.
type Place struct {
	Placement string
	Rate      float64
	Warmup    int
	Runs      []CellResult // by seed
}

// cell is one run of the grid.
func (g Grid) cell(placement string, rate float64, warmup int, seed int64) Cell {
	c := Cell{Model: g.Model.WithPlacement(placement).Resolved(), Train: g.Train.Resolved(), Seed: seed}
	c.Train.Optimizer.LR = rate
	c.Train.Schedule.Warmup = warmup
	c.Label = fmt.Sprintf(labelFormat, placement, rate, warmup, seed)
	return c
}

// warmups are the grid's, or the one of its settings.
func (g Grid) warmups() []int {
	if len(g.Warmups) > 0 {
		return g.Warmups
	}
	return []int{g.Train.Resolved().Schedule.Warmup}
}

// Size is the number of runs.
func (g Grid) Size() int {
	return len(g.Placements) * len(g.Rates) * len(g.Seeds) * len(g.warmups())
}

// Run trains the grid.
func (g Grid) Run(ctx context.Context, r *Runner) ([]Place, error) {
	var cells []Cell
	var places []Place
	for _, placement := range g.Placements {
		for _, warmup := range g.warmups() {
			for _, rate := range g.Rates {
				places = append(places, Place{Placement: placement, Rate: rate, Warmup: warmup})
				for _, seed := range g.Seeds {
					cells = append(cells, g.cell(placement, rate, warmup, seed))
				}
			}
		}
	}
	results, err := r.Run(ctx, cells)
	if err != nil {
		return nil, err
	}
	for i := range places {
		places[i].Runs = results[i*len(g.Seeds) : (i+1)*len(g.Seeds)]
	}
	return places, nil
}

// Loss is the validation loss over seeds. Runs that stopped at a loss which is not finite have none; where all did, it is NaN.
func (p Place) Loss() Spread {
	var values []float64
	for _, r := range p.Runs {
		if v := float64(r.Val); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return SpreadOf(values...)
}

// converged is the place without its runs that diverged.
func (p Place) converged() Place {
	p.Runs = slices.DeleteFunc(slices.Clone(p.Runs), func(r CellResult) bool { return r.Outcome == Diverged })
	return p
}

// Failed is the number of runs that did not come to a model that can be used.
func (p Place) Failed() int {
	n := 0
	for _, r := range p.Runs {
		if r.Outcome.Failed() {
			n++
		}
	}
	return n
}

// Outcome is what became of the runs in words: "trains", or "2 trains, 1 diverged".
func (p Place) Outcome() string {
	count := map[Outcome]int{}
	for _, r := range p.Runs {
		count[r.Outcome]++
	}
	var words []string
	for _, o := range []Outcome{Trains, Slow, Plateau, FellBack, Jumped, Diverged} {
		switch n := count[o]; {
		case n == len(p.Runs):
			return string(o)
		case n > 0:
			words = append(words, fmt.Sprintf("%d %s", n, o))
		}
	}
	return strings.Join(words, ", ")
}

// bounded is the mean over seeds of the validation loss, with that of the untrained model in place of what is worse or not a number (Wortsman et
// al., arXiv 2309.14322, section 2.2).
func (p Place) bounded() float64 {
	sum := 0.0
	for _, r := range p.Runs {
		start := math.Inf(1)
		if len(r.Losses) > 0 {
			start = r.Losses[0]
		}
		v := float64(r.Val)
		if math.IsNaN(v) || v > start {
			v = start
		}
		sum += v
	}
	return sum / float64(len(p.Runs))
}

// Of are the places of one placement and warm-up in ascending order of the rate.
func Of(places []Place, placement string, warmup int) []Place {
	var out []Place
	for _, p := range places {
		if p.Placement == placement && p.Warmup == warmup {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b Place) int { return cmp.Compare(a.Rate, b.Rate) })
	return out
}

// Best is the place with the lowest loss among those of a placement, over rates and warm-ups.
func Best(places []Place, placement string) (Place, bool) {
	var found Place
	ok := false
	for _, p := range places {
		if p.Placement == placement && (!ok || p.bounded() < found.bounded()) {
			found, ok = p, true
		}
	}
	return found, ok
}

// Sensitivity is the mean over rates of how far the loss is above that of the best rate, with the untrained model's loss as the most it can be
// (Wortsman et al., arXiv 2309.14322).
func Sensitivity(places []Place) float64 {
	if len(places) == 0 {
		return math.NaN()
	}
	low, sum := math.Inf(1), 0.0
	for _, p := range places {
		low = min(low, p.bounded())
		sum += p.bounded()
	}
	return sum/float64(len(places)) - low
}

// LargestStable is the largest rate up to which no run failed; 0 where the smallest one's did.
func LargestStable(places []Place) float64 {
	stable := 0.0
	for _, p := range places {
		if p.Failed() > 0 {
			break
		}
		stable = p.Rate
	}
	return stable
}
