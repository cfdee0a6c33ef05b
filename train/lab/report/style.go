package report

import (
	"hash/fnv"
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
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

// dress sets fonts, colours and axes.
func (f Figure) dress(p *plot.Plot) {
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.X, f.Y
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
