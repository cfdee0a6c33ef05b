package report

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/fnv"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a plot of lines over one axis.
type Figure struct {
	Name       string // of its files
	Title      string
	X, Y       string // names of the axes
	LogX, LogY bool
	Ticks      []float64 // of x, where not every place makes sense; nil = chosen
	Series     []Series
	Lines      []Line // across the whole width
	Note       string // below the figure on the page
	Bars       bool   // series are bars side by side, one a place of Labels
	Labels     []string
}

// Series is one line. Low and High, where they are given, are a band around it.
type Series struct {
	Name      string
	X, Y      []float64
	Low, High []float64
	Dashed    bool
}

// Line is a horizontal line of reference.
type Line struct {
	Name string
	Y    float64
}

// size of a figure, and of its legend on the right.
const (
	width       = 8.2 * vg.Inch
	height      = 4.1 * vg.Inch
	legendWidth = 1.75 * vg.Inch
)

var (
	ink   = color.RGBA{0x24, 0x29, 0x2f, 0xff}
	faint = color.RGBA{0xe6, 0xe8, 0xeb, 0xff}
	grey  = color.RGBA{0x6e, 0x77, 0x81, 0xff}
)

// palette is Tol's muted and bright schemes without their greys, which people with impaired colour vision can tell apart.
var palette = []color.RGBA{
	{0x44, 0x77, 0xaa, 0xff}, {0xee, 0x66, 0x77, 0xff}, {0x22, 0x88, 0x33, 0xff}, {0xcc, 0xbb, 0x44, 0xff}, {0x66, 0xcc, 0xee, 0xff}, {0xaa, 0x33, 0x77, 0xff},
	{0x33, 0x22, 0x88, 0xff}, {0xdd, 0x88, 0x33, 0xff}, {0x8c, 0x56, 0x4b, 0xff}, {0x55, 0x55, 0x55, 0xff}, {0x99, 0x99, 0x33, 0xff}, {0x44, 0xaa, 0x99, 0xff},
}

// known are the colours of the placements that most figures show, so that a placement has one colour everywhere.
var known = map[string]int{"pre": 0, "post": 1, "deepnorm": 2, "keel": 3, "sandwich": 4, "peri": 4, "residual": 5, "olmo2": 6, "lns": 7, "hybrid": 8, "subln": 9, "b2t": 10, "mix": 11}

// colourOf is a series' colour: its placement's, else one by its name.
func colourOf(name string) color.RGBA {
	placement, _, _ := strings.Cut(name, " ")
	placement, _, _ = strings.Cut(placement, "+")
	if i, ok := known[placement]; ok {
		return palette[i]
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return palette[h.Sum32()%uint32(len(palette))]
}

var dashes = [][]vg.Length{nil, {vg.Points(5), vg.Points(3)}, {vg.Points(1.5), vg.Points(2.5)}, {vg.Points(7), vg.Points(2), vg.Points(1.5), vg.Points(2)}}

// styles gives each series a colour, and lines of one colour different dashes.
func (f Figure) styles() []draw.LineStyle {
	used := map[color.RGBA]int{}
	styles := make([]draw.LineStyle, len(f.Series))
	for i, s := range f.Series {
		c := colourOf(s.Name)
		dash := dashes[used[c]%len(dashes)]
		used[c]++
		if s.Dashed {
			dash = dashes[1]
		}
		wide := max(1.4, 2.4-0.12*float64(i)) // where lines lie on each other, the earlier show beside the later
		styles[i] = draw.LineStyle{Color: c, Width: vg.Points(wide), Dashes: dash}
	}
	return styles
}

// plot makes gonum's plot and the legend beside it.
func (f Figure) plot() (*plot.Plot, *plot.Legend, error) {
	p := plot.New()
	f.dress(p)
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.XOffs = true, true, vg.Points(8)
	legend.TextStyle.Color, legend.TextStyle.Font.Size = ink, vg.Points(9.5)
	legend.TextStyle.Font.Variant = "Sans"
	legend.Padding, legend.ThumbnailWidth = vg.Points(3), vg.Points(20)
	p.Add(grid())
	for _, l := range f.Lines {
		if err := f.across(p, l); err != nil {
			return nil, nil, err
		}
	}
	styles := f.styles()
	if f.Bars {
		return p, &legend, f.bars(p, &legend, styles)
	}
	for i, s := range f.Series {
		if err := f.band(p, s, styles[i]); err != nil {
			return nil, nil, fmt.Errorf("series %s: %w", s.Name, err)
		}
	}
	lines := make(map[int]plot.Thumbnailer)
	for i, s := range f.Series {
		line, err := f.series(p, s, styles[i])
		if err != nil {
			return nil, nil, fmt.Errorf("series %s: %w", s.Name, err)
		}
		lines[i] = line
	}
	for _, i := range f.ranking() {
		if lines[i] == nil {
			legend.Add(f.Series[i].Name + " (none)")
			continue
		}
		legend.Add(f.Series[i].Name, lines[i])
	}
	f.bounds(p)
	return p, &legend, nil
}

// ranking is the order of the legend: that of the lines' right ends from top to bottom.
func (f Figure) ranking() []int {
	order, ends := make([]int, len(f.Series)), make([]float64, len(f.Series))
	for i, s := range f.Series {
		order[i], ends[i] = i, math.Inf(-1)
		for k, y := range s.Y {
			if f.usable(s.X[k], y) {
				ends[i] = y
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ends[b], ends[a]) })
	return order
}

// dress sets fonts, colours and axes.
func (f Figure) dress(p *plot.Plot) {
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.X, f.Y
	p.BackgroundColor = color.White
	p.Title.TextStyle.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Weight: 3, Size: vg.Points(12)}
	p.Title.TextStyle.Color, p.Title.Padding = ink, vg.Points(8)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Variant, a.Label.TextStyle.Font.Size, a.Label.TextStyle.Color = "Sans", vg.Points(10), ink
		a.Tick.Label.Font.Variant, a.Tick.Label.Font.Size, a.Tick.Label.Color = "Sans", vg.Points(9), grey
		a.LineStyle.Color, a.Tick.LineStyle.Color = grey, grey
		a.Label.Padding = vg.Points(4)
		a.Padding = vg.Points(2)
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks{}, ticks{}
	if f.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, ticks{log: true}
	}
	if f.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, ticks{log: true}
	}
	if f.Ticks != nil {
		p.X.Tick.Marker = chosen(f.Ticks)
	}
	if f.Bars {
		p.NominalX(f.Labels...)
		p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = 0, draw.XCenter, draw.YTop
	}
}

func grid() *plotter.Grid {
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = faint, faint
	g.Vertical.Width, g.Horizontal.Width = vg.Points(0.7), vg.Points(0.7)
	return g
}

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

// draw puts plot and legend on a canvas.
func (f Figure) draw(c vg.CanvasSizer) error {
	p, legend, err := f.plot()
	if err != nil {
		return err
	}
	dc := draw.New(c)
	dc.SetColor(color.White)
	dc.Fill(dc.Rectangle.Path())
	right := legendWidth
	if f.Bars && len(f.Series) == 1 {
		right = 0
	}
	p.Draw(draw.Crop(dc, vg.Points(6), -right-vg.Points(6), vg.Points(6), -vg.Points(6)))
	if right > 0 {
		legend.Draw(draw.Crop(dc, width-right, 0, 0, -vg.Points(30)))
	}
	return nil
}

var (
	svgHead = regexp.MustCompile(`(?s)^.*?<svg [^>]*>`)
	svgFont = regexp.MustCompile(`font-family:[^;"]*(;font-variant:none)?`)
)

// SVG is the figure as a file of its own.
func (f Figure) SVG() ([]byte, error) {
	c := vgsvg.New(width, height)
	if err := f.draw(c); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	text := svgFont.ReplaceAll(b.Bytes(), []byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif"))
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.4g %.4g" role="img"><title>%s</title>`,
		width.Points()*4/3, height.Points()*4/3, width.Points(), height.Points(), escape(f.Title))
	return svgHead.ReplaceAllLiteral(text, []byte(head)), nil
}

// resolution of PNG files, in dots an inch.
const resolution = 150

// PNG is the figure as an image.
func (f Figure) PNG() ([]byte, error) {
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(resolution))
	if err := f.draw(c); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(&b)
	return b.Bytes(), err
}
