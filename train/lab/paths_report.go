package lab

import (
	"fmt"
	"math"

	"prenorm/train/lab/report"
)

// PathsReport turns paths into a page.
func PathsReport(o PathsOptions, paths []Path) report.Report {
	page := report.Report{
		Title: "By which paths the gradient comes down",
		Lead: "A path from the loss to the embedding passes some branches and goes straight past the others. Multiplying every branch's Jacobian by t makes the gradient " +
			"a polynomial in t, whose coefficient of t^k is what comes by paths of k branches.",
		Facts: []report.Fact{{Name: "Set-up", Value: o.Setup + ": " + Setups()[o.Setup].About}, {Name: "Blocks", Value: fmt.Sprint(o.Layers)}, {Name: "Width", Value: fmt.Sprint(o.Width)},
			{Name: "Batch", Value: fmt.Sprintf("%d × %d random tokens, before training", o.B, o.T)}, {Name: "Seeds", Value: list(o.Seeds)}},
	}
	if len(paths) > 0 {
		page.Facts = append(page.Facts, report.Fact{Name: "Recovery", Value: fmt.Sprintf("%d Chebyshev nodes in float64, condition number %.1e", 2*o.Layers+1, paths[0].Condition)})
	}
	shares := report.Figure{Name: "shares", Title: "Share of the gradient by paths of k branches", X: "branches on the path", Y: "share of the gradient",
		Note: "The part of the whole gradient along itself. Shares sum to 1; a negative one means that those paths work against the rest."}
	straight := report.Figure{Name: "straight", Title: "The straight path alone, from the loss down", X: "block (0 is the embedding)", Y: "gradient, 1 after the last block", LogY: true,
		Note: "All branches cut. A line that stays at 1 is a path that nothing rescales."}
	for _, name := range o.Variants {
		shares.Series = append(shares.Series, seriesOf(name, paths, 0, func(p Path) []float64 { return p.Shares }))
		straight.Series = append(straight.Series, seriesOf(name, paths, 0, Path.StraightRatio))
	}
	page.Sections = []report.Section{
		{Title: "Paths", Figures: []report.Figure{shares}, Tables: []report.Table{pathsTable(o, paths)}},
		{Title: "The straight path", Text: "What reaches each block with all branches cut, as a share of what arrives after the last block.", Figures: []report.Figure{straight}},
	}
	return page
}

// StraightRatio is the straight path's gradient after each block over that after the last.
func (p Path) StraightRatio() []float64 {
	out := make([]float64, len(p.Straight))
	for l, v := range p.Straight {
		out[l] = v / p.Straight[len(p.Straight)-1]
	}
	return out
}

// PerNorm is the factor by which the straight path shrinks or grows at a sub-layer, as a geometric mean over those above the first block: at the
// embedding two streams meet in ResiDual.
func (p Path) PerNorm() float64 {
	from := min(1, p.Layers-1)
	return math.Pow(p.StraightRatio()[from], 1/float64(2*(p.Layers-from)))
}

// seriesOf averages curves of one variant over seeds, with a band from the lowest to the highest.
func seriesOf(name string, paths []Path, first float64, of func(Path) []float64) report.Series {
	s := report.Series{Name: name}
	var curves [][]float64
	for _, p := range paths {
		if p.Variant == name {
			curves = append(curves, of(p))
		}
	}
	if len(curves) == 0 {
		return s
	}
	for k := range curves[0] {
		var values []float64
		for _, c := range curves {
			values = append(values, c[k])
		}
		v := SpreadOf(values...)
		s.X, s.Y, s.Low, s.High = append(s.X, first+float64(k)), append(s.Y, v.Mean), append(s.Low, v.Low), append(s.High, v.High)
	}
	return s
}

func pathsTable(o PathsOptions, paths []Path) report.Table {
	t := report.Table{Name: "paths", Caption: "Means over seeds; errors are the worst of all seeds", Columns: []string{"placement", "k = 0", "k = 1", "k = 2", "mean k", "straight, a sub-layer", "sum's error", "k = 0's error"}, Raw: pathsRaw(paths),
		Note: "k = …: share of the embedding's gradient that comes by paths of k branches. mean k: the mean of k with the shares as weights. straight, a sub-layer: the factor by which the path past all branches " +
			"shrinks or grows at a sub-layer, the geometric mean over those above the first block. sum's error: how far the parts' sum is from the whole gradient, over the whole. " +
			"k = 0's error: how far the part of k = 0 is from the gradient with all branches cut, over the whole."}
	for _, name := range o.Variants {
		shares := seriesOf(name, paths, 0, func(p Path) []float64 { return p.Shares })
		if len(shares.Y) == 0 {
			continue
		}
		mean, sum, zero, per, n := 0.0, 0.0, 0.0, 0.0, 0.0
		for k, v := range shares.Y {
			mean += float64(k) * v
		}
		for _, p := range paths {
			if p.Variant == name {
				sum, zero, per, n = max(sum, p.SumError), max(zero, p.ZeroError), per+p.PerNorm(), n+1
			}
		}
		t.Row(name, shares.Y[0], shares.Y[1], shares.Y[2], mean, per/n, fmt.Sprintf("%.0e", sum), fmt.Sprintf("%.0e", zero))
	}
	return t
}

func pathsRaw(paths []Path) *report.Table {
	t := &report.Table{Columns: []string{"variant", "layers", "seed", "k", "norm", "share", "whole"}}
	for _, p := range paths {
		for k := range p.Norms {
			t.Full(p.Variant, p.Layers, p.Seed, k, p.Norms[k], p.Shares[k], p.Whole)
		}
	}
	return t
}
