package report

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// usable says whether a value can be drawn.
func (f Figure) usable(x, y float64) bool {
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	return finite(x) && finite(y) && (!f.LogX || x > 0) && (!f.LogY || y > 0)
}

// series draws a line, nil where there is nothing to draw.
func (f Figure) series(p *plot.Plot, s Series, style stroke) ([]plot.Thumbnailer, error) {
	var points plotter.XYs
	for i := range s.X {
		if f.usable(s.X[i], s.Y[i]) {
			points = append(points, plotter.XY{X: s.X[i], Y: s.Y[i]})
		}
	}
	if len(points) == 0 {
		return nil, nil
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	line.LineStyle = style.LineStyle
	p.Add(line)
	thumbs := []plot.Thumbnailer{line}
	if len(points) <= 30 {
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return nil, err
		}
		dots.GlyphStyle = style.mark
		p.Add(dots)
		thumbs = append(thumbs, dots)
	}
	return thumbs, nil
}

// band fills the space between a series' lowest and highest values.
func (f Figure) band(p *plot.Plot, s Series, style stroke) error {
	if len(s.Low) != len(s.X) || len(s.High) != len(s.X) {
		return nil
	}
	var above, below plotter.XYs
	for i := range s.X {
		if f.usable(s.X[i], s.Low[i]) && f.usable(s.X[i], s.High[i]) {
			above = append(above, plotter.XY{X: s.X[i], Y: s.High[i]})
			below = append(below, plotter.XY{X: s.X[i], Y: s.Low[i]})
		}
	}
	if len(above) < 2 {
		return nil
	}
	slices.Reverse(below)
	area, err := plotter.NewPolygon(append(above, below...))
	if err != nil {
		return err
	}
	c := style.Color.(color.RGBA)
	area.Color, area.LineStyle.Width = color.NRGBA{c.R, c.G, c.B, 0x2a}, 0
	p.Add(area)
	return nil
}

// span is the range of x over all series.
func (f Figure) span() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, s := range f.Series {
		for i, x := range s.X {
			if f.usable(x, s.Y[i]) {
				low, high = min(low, x), max(high, x)
			}
		}
	}
	if f.Bars {
		return -0.5, float64(len(f.Labels)) - 0.5
	}
	return low, high
}

// bounds gives the figure some air, and a height where all values are one.
func (f Figure) bounds(p *plot.Plot) {
	widen(&p.X, f.LogX)
	widen(&p.Y, f.LogY)
	if f.LogY {
		p.Y.Min, p.Y.Max = p.Y.Min/1.15, p.Y.Max*1.15
		if p.Y.Max/p.Y.Min < 3 {
			p.Y.Min, p.Y.Max = p.Y.Min/2, p.Y.Max*2
		}
		return
	}
	room := 0.06 * (p.Y.Max - p.Y.Min)
	if room == 0 {
		room = max(0.5*math.Abs(p.Y.Max), 0.5)
	}
	if p.Y.Min < 0 || p.Y.Min-room > 0 {
		p.Y.Min -= room
	} else {
		p.Y.Min = 0
	}
	p.Y.Max += room
}

// widen gives an axis a length where it has none: there is one value, or nothing to draw.
func widen(a *plot.Axis, log bool) {
	switch {
	case a.Min > a.Max:
		a.Min, a.Max = 0, 1
		if log {
			a.Min, a.Max = 1, 10
		}
	case a.Min == a.Max && log:
		a.Min, a.Max = a.Min/2, a.Max*2
	case a.Min == a.Max:
		a.Min, a.Max = a.Min-1, a.Max+1
	}
}

// barWidth is the width of a bar. All of them leave some of the axis free.
func (f Figure) barWidth() vg.Length {
	return vg.Points(max(3, min(40, 330/float64(max(1, len(f.Labels)*len(f.Series))))))
}

// bars draws series as groups of bars. Those of one series have the colours of their places.
func (f Figure) bars(p *plot.Plot, legend *plot.Legend, styles []stroke) error {
	each := f.barWidth()
	for i, s := range f.Series {
		offset := each * vg.Length(float64(i)-float64(len(f.Series)-1)/2)
		if len(f.Series) > 1 {
			b, err := f.bar(p, s.Y, 0, each, offset, styles[i].Color)
			if err != nil {
				return err
			}
			if b != nil {
				legend.Add(s.Name, b)
			}
			continue
		}
		for k := range s.Y {
			style := styles[i]
			if k < len(f.Labels) && s.Name == "" {
				style.Color = palette[lookOf(f.Labels[k]).colour]
			}
			if _, err := f.bar(p, s.Y[k:k+1], float64(k), each, offset, style.Color); err != nil {
				return err
			}
		}
	}
	widen(&p.X, false)
	widen(&p.Y, false)
	p.X.Min, p.X.Max = min(p.X.Min, -0.6), max(p.X.Max, float64(len(f.Labels))-0.4)
	p.Y.Max += 0.05 * (p.Y.Max - p.Y.Min)
	return nil
}

// bar draws bars of one colour from a place on, nil where there are none.
func (f Figure) bar(p *plot.Plot, y []float64, from float64, wide, offset vg.Length, c color.Color) (*plotter.BarChart, error) {
	values := make(plotter.Values, len(y))
	for k, v := range y {
		if f.usable(0, v) || !f.LogY && !math.IsNaN(v) && !math.IsInf(v, 0) {
			values[k] = v
		}
	}
	if len(values) == 0 {
		return nil, nil
	}
	b, err := plotter.NewBarChart(values, wide)
	if err != nil {
		return nil, err
	}
	b.XMin, b.Offset, b.Color, b.LineStyle.Width = from, offset, c, 0
	p.Add(b)
	return b, nil
}
