package stream

import (
	"math"

	"gonum.org/v1/plot"
)

// grid holds one figure by step and sub-layer.
type grid struct {
	steps  []float64
	names  []string
	values [][]float64 // by sub-layer, then step; NaN where there is none
}

// grid takes the panel's figure out of the history.
func (p panel) grid(h History) *grid {
	g := &grid{values: make([][]float64, len(h[0].Sublayers))}
	for _, s := range h[0].Sublayers {
		g.names = append(g.names, Label(s.Name))
	}
	for _, r := range h {
		g.steps = append(g.steps, float64(r.Step))
		for i := range g.names {
			v := math.NaN()
			if i < len(r.Sublayers) {
				v = float64(p.of(r.Sublayers[i]))
			}
			if v = math.Log10(v); math.IsInf(v, 0) {
				v = math.NaN()
			}
			g.values[i] = append(g.values[i], v)
		}
	}
	return g
}

// extent is the range of the values; ok is false where there are none.
func (g *grid) extent() (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, row := range g.values {
		for _, v := range row {
			if !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	return low, high, low <= high
}

// edges are where the column of step i begins and ends.
func (g *grid) edges(i int) (from, to float64) {
	n := len(g.steps)
	if n == 1 {
		return g.steps[0] - 0.5, g.steps[0] + 0.5
	}
	between := func(a, b int) float64 { return (g.steps[a] + g.steps[b]) / 2 }
	from, to = g.steps[i]-(between(0, 1)-g.steps[0]), g.steps[i]+(g.steps[n-1]-between(n-2, n-1))
	if i > 0 {
		from = between(i-1, i)
	}
	if i < n-1 {
		to = between(i, i+1)
	}
	return from, to
}

// labels names sub-layers, as many as there is room for.
func (g *grid) labels() plot.Ticker {
	const most = 24
	every := (len(g.names) + most - 1) / most
	var ticks []plot.Tick
	for i, name := range g.names {
		if i%every == 0 {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: name})
		}
	}
	return plot.ConstantTicks(ticks)
}
