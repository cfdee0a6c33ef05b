package report

import (
	"hash/fnv"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
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

// look is how a placement is drawn everywhere: its colour in the palette, its first dashes, and the mark on its values. No two have all three.
type look struct{ colour, dash, mark int }

var known = map[string]look{
	"pre": {0, 0, 0}, "post": {1, 0, 1}, "deepnorm": {2, 0, 2}, "keel": {3, 0, 3}, "sandwich": {4, 0, 0}, "residual": {5, 0, 4}, "olmo2": {6, 0, 1},
	"lns": {7, 0, 5}, "hybrid": {8, 0, 3}, "subln": {9, 0, 4}, "b2t": {10, 0, 5}, "mix": {11, 0, 2},
	"peri": {4, 1, 2}, "layerscale": {5, 1, 0}, "rezero": {7, 1, 1}, "none": {2, 1, 3}, "noskip": {9, 1, 0}, "dyt": {0, 1, 5},
}

// lookOf is a series' look: its placement's, else one by its name.
func lookOf(name string) look {
	placement, _, _ := strings.Cut(name, " ")
	placement, _, _ = strings.Cut(placement, "+")
	if l, ok := known[placement]; ok {
		return l
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	n := int(h.Sum32() % uint32(len(palette)))
	return look{n, 0, n % len(marks)}
}

var dashes = [][]vg.Length{nil, {vg.Points(5), vg.Points(3)}, {vg.Points(1.5), vg.Points(2.5)}, {vg.Points(7), vg.Points(2), vg.Points(1.5), vg.Points(2)}}

// marks are the shapes on values, which tell lines apart whose colours are alike or lie on each other.
var marks = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}}

// stroke is how a series is drawn.
type stroke struct {
	draw.LineStyle
	mark draw.GlyphStyle
}

// styles gives each series the look of its placement, and those of one placement different dashes.
func (f Figure) styles() []stroke {
	used := map[look]int{}
	styles := make([]stroke, len(f.Series))
	for i, s := range f.Series {
		l := lookOf(s.Name)
		c, dash := palette[l.colour], dashes[(l.dash+used[l])%len(dashes)]
		if f.Bars { // which have no dashes
			c = paler(c, used[l])
		}
		used[l]++
		wide := max(1.4, 2.4-0.12*float64(i)) // where lines lie on each other, the earlier show beside the later
		styles[i] = stroke{draw.LineStyle{Color: c, Width: vg.Points(wide), Dashes: dash}, draw.GlyphStyle{Color: c, Radius: vg.Points(1.1 + 0.9*wide), Shape: marks[l.mark]}}
	}
	return styles
}

// paler is a colour with less ink: two fifths are taken off n times.
func paler(c color.RGBA, n int) color.RGBA {
	for range n {
		for _, v := range []*uint8{&c.R, &c.G, &c.B} {
			*v += uint8(2 * (255 - int(*v)) / 5)
		}
	}
	return c
}

// dress sets fonts, colours and axes.
func (f Figure) dress(p *plot.Plot) {
	p.Title.Text, p.X.Label.Text = f.Title, f.X
	p.BackgroundColor = color.White
	p.Title.TextStyle.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Weight: boldWeight, Size: vg.Points(12)}
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
	if f.Bars && len(f.Labels) > 0 {
		p.NominalX(f.Labels...)
		p.Y.Padding = p.X.Padding // it was half of the first label, which parts the axis from the plot
		p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = 0, draw.XCenter, draw.YTop
		if f.crowded(p.X.Tick.Label) {
			p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/5, draw.XRight, draw.YTop
		}
	}
}

// crowded says whether two labels of bars that stand side by side would touch.
func (f Figure) crowded(style text.Style) bool {
	place := (width - legendWidth - vg.Points(60)) / vg.Length(max(1, len(f.Labels)))
	for i := 1; i < len(f.Labels); i++ {
		if (style.Width(f.Labels[i-1])+style.Width(f.Labels[i]))/2+vg.Points(3) > place {
			return true
		}
	}
	return false
}

func grid() *plotter.Grid {
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = faint, faint
	g.Vertical.Width, g.Horizontal.Width = vg.Points(0.7), vg.Points(0.7)
	return g
}
