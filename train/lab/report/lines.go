package report

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// usable says whether a value can be drawn.
func (f Figure) usable(x, y float64) bool {
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	return finite(x) && finite(y) && (!f.LogX || x > 0) && (!f.LogY || y > 0)
}

// series draws a line, nil where there is nothing to draw.
func (f Figure) series(p *plot.Plot, s Series, style draw.LineStyle) (plot.Thumbnailer, error) {
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
	line.LineStyle = style
	p.Add(line)
	if len(points) <= 30 {
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return nil, err
		}
		dots.GlyphStyle = draw.GlyphStyle{Color: style.Color, Radius: style.Width * 1.3, Shape: draw.CircleGlyph{}}
		p.Add(dots)
	}
	return line, nil
}

// band fills the space between a series' lowest and highest values.
func (f Figure) band(p *plot.Plot, s Series, style draw.LineStyle) error {
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

// across draws a line of reference with its name above it.
func (f Figure) across(p *plot.Plot, l Line) error {
	low, high := f.span()
	if !f.usable(low, l.Y) {
		return nil
	}
	line, err := plotter.NewLine(plotter.XYs{{X: low, Y: l.Y}, {X: high, Y: l.Y}})
	if err != nil {
		return err
	}
	line.LineStyle = draw.LineStyle{Color: grey, Width: vg.Points(1), Dashes: dashes[2]}
	label, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: high, Y: l.Y}}, Labels: []string{l.Name}})
	if err != nil {
		return err
	}
	style := &label.TextStyle[0]
	style.Font.Variant, style.Font.Size, style.Color, style.XAlign, style.YAlign = "Sans", vg.Points(8.5), grey, draw.XRight, draw.YBottom
	label.Offset = vg.Point{Y: vg.Points(2)}
	p.Add(line, label)
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

// bars draws series as groups of bars.
func (f Figure) bars(p *plot.Plot, legend *plot.Legend, styles []draw.LineStyle) error {
	each := vg.Points(max(3, min(22, 330/float64(max(1, len(f.Labels)*len(f.Series))))))
	for i, s := range f.Series {
		values := make(plotter.Values, len(s.Y))
		for k, y := range s.Y {
			if f.usable(0, y) || !f.LogY && !math.IsNaN(y) && !math.IsInf(y, 0) {
				values[k] = y
			}
		}
		if len(values) == 0 {
			continue
		}
		b, err := plotter.NewBarChart(values, each)
		if err != nil {
			return err
		}
		b.Color, b.LineStyle.Width = styles[i].Color, 0
		b.Offset = each * vg.Length(float64(i)-float64(len(f.Series)-1)/2)
		p.Add(b)
		if len(f.Series) > 1 {
			legend.Add(s.Name, b)
		}
	}
	widen(&p.X, false)
	widen(&p.Y, false)
	p.Y.Max += 0.05 * (p.Y.Max - p.Y.Min)
	return nil
}
