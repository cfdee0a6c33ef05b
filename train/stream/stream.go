// Package stream reads what a run recorded of its residual stream at inspected steps, sums it up, and draws it: sub-layers from bottom to top,
// steps from left to right.
package stream

import (
	"math"
	"slices"
	"strings"

	"prenorm/train/metrics"
)

// History is what was recorded, by step.
type History []metrics.Inspect

// Of picks the history out of a run's records.
func Of(records []metrics.Record) History {
	var h History
	for _, r := range records {
		if seen, ok := r.(metrics.Inspect); ok && len(seen.Sublayers) > 0 {
			h = append(h, seen)
		}
	}
	return h
}

// Label is a sub-layer's name for people: "0 attn" for layers.0.attn.
func Label(name string) string {
	return strings.Replace(strings.TrimPrefix(name, "layers."), ".", " ", 1)
}

// Main are the sub-layers of the stream that the branches read, without those of a second stream.
func Main(r metrics.Inspect) []metrics.Sublayer {
	return slices.DeleteFunc(slices.Clone(r.Sublayers), func(s metrics.Sublayer) bool { return strings.HasSuffix(s.Name, ".r") })
}

// Trend sums up one step over the depth of the model.
type Trend struct {
	Step        int64
	First, Last float64 // the stream below the first sub-layer and above the last
	Slope       float64 // of log RMS by log of the number of sub-layers passed, least squares: 0.5 where variance grows by the same at each
	Max         float64 // largest value in the stream anywhere
	Ratio       float64 // branch to stream, geometric mean over sub-layers
	Top, Bottom float64 // the gradient above the last sub-layer and above the first
	Straight    float64 // share of the straight part in the squares of both parts, mean over sub-layers
}

// TrendOf sums up a step.
func TrendOf(r metrics.Inspect) Trend {
	main := Main(r)
	first, last := main[0], main[len(main)-1]
	t := Trend{Step: r.Step, First: float64(first.In), Last: float64(last.Out), Top: float64(last.Grad), Bottom: float64(first.Grad)}
	var x, y []float64
	logs, shares := 0.0, 0.0
	for i, s := range main {
		x, y = append(x, math.Log(float64(i+1))), append(y, math.Log(float64(s.Out)))
		t.Max = max(t.Max, float64(s.Max))
		logs += math.Log(float64(s.Ratio))
		straight, through := float64(s.Straight*s.Straight), float64(s.Through*s.Through)
		if straight+through > 0 {
			shares += straight / (straight + through)
		}
	}
	t.Slope = slope(x, y)
	t.Ratio, t.Straight = math.Exp(logs/float64(len(main))), shares/float64(len(main))
	return t
}

// slope is that of the line of least squares, NaN for fewer than two points.
func slope(x, y []float64) float64 {
	n := float64(len(x))
	var sx, sy, sxx, sxy float64
	for i := range x {
		sx, sy = sx+x[i], sy+y[i]
		sxx, sxy = sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// Group is the matrices of one kind over all layers.
type Group struct {
	Name                string // self_attn.q_proj.weight
	Count               int
	Low, Median, High   float64 // update/weight
	Weight, Grad, Least float64 // root mean squares over the group, and the smallest gradient of a layer
}

// Groups sums up the matrices by kind, in the order of their first.
func Groups(matrices []metrics.Matrix) []Group {
	at := map[string][]metrics.Matrix{}
	var names []string
	for _, m := range matrices {
		name := m.Name
		if rest, ok := strings.CutPrefix(name, "layers."); ok {
			_, name, _ = strings.Cut(rest, ".")
		}
		if at[name] == nil {
			names = append(names, name)
		}
		at[name] = append(at[name], m)
	}
	groups := make([]Group, len(names))
	for i, name := range names {
		groups[i] = groupOf(name, at[name])
	}
	return groups
}

func groupOf(name string, list []metrics.Matrix) Group {
	g := Group{Name: name, Count: len(list), Least: math.Inf(1)}
	var ratios []float64
	for _, m := range list {
		ratios = append(ratios, float64(m.Ratio))
		g.Weight += float64(m.Weight * m.Weight)
		g.Grad += float64(m.Grad * m.Grad)
		g.Least = min(g.Least, float64(m.Grad))
	}
	slices.Sort(ratios)
	n := len(ratios)
	g.Low, g.Median, g.High = ratios[0], (ratios[(n-1)/2]+ratios[n/2])/2, ratios[n-1]
	g.Weight, g.Grad = math.Sqrt(g.Weight/float64(n)), math.Sqrt(g.Grad/float64(n))
	return g
}
