package stream

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"prenorm/train/metrics"
)

// panel is one heat map: a size or ratio of every sub-layer at every step, as its decimal logarithm.
type panel struct {
	title string
	of    func(s metrics.Sublayer) metrics.Float
}

var panels = []panel{
	{"stream behind the sub-layer, RMS", func(s metrics.Sublayer) metrics.Float { return s.Out }},
	{"branch / stream, RMS", func(s metrics.Sublayer) metrics.Float { return s.Ratio }},
	{"gradient by the stream, RMS", func(s metrics.Sublayer) metrics.Float { return s.Grad }},
	{"gradient: through the branch / straight", throughBranch},
}

// throughBranch is how large the part of the gradient through the branch is beside the straight part, NaN without one.
func throughBranch(s metrics.Sublayer) metrics.Float {
	if s.Straight == 0 {
		return metrics.Float(math.NaN())
	}
	return s.Through / s.Straight
}

// Formats are the endings of files that a picture can be written to.
var Formats = []string{"png", "svg", "pdf"}

// Format is the format that a file's name asks for.
func Format(path string) (string, error) {
	format := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
	for _, f := range Formats {
		if f == format {
			return f, nil
		}
	}
	return "", fmt.Errorf("%s: a picture's name ends in .%s", path, strings.Join(Formats, ", ."))
}

// Draw writes heat maps of the history in a format. All records must have the sub-layers of the first.
func Draw(w io.Writer, h History, title, format string) error {
	const columns, width = 2, 26 * vg.Centimeter
	rows := (len(panels) + columns - 1) / columns
	each := 5*vg.Centimeter + vg.Length(len(h[0].Sublayers))*vg.Millimeter*1.6
	height := vg.Length(rows)*each + vg.Centimeter
	canvas, err := draw.NewFormattedCanvas(width, height, format)
	if err != nil {
		return err
	}
	all := draw.New(canvas)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	head := draw.TextStyle{Color: color.Black, Font: plot.DefaultFont, XAlign: draw.XCenter, YAlign: draw.YTop, Handler: plot.DefaultTextHandler}
	head.Font.Size, head.Font.Variant = 14, sans
	all.FillText(head, vg.Point{X: all.Center().X, Y: all.Max.Y - 2*vg.Millimeter}, title)
	body := draw.Crop(all, 0, 0, 0, -vg.Centimeter)
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: 6 * vg.Millimeter, PadY: 4 * vg.Millimeter, PadTop: 2 * vg.Millimeter, PadBottom: 2 * vg.Millimeter,
		PadLeft: 2 * vg.Millimeter, PadRight: 2 * vg.Millimeter}
	for i, p := range panels {
		p.draw(tiles.At(body, i%columns, i/columns), h)
	}
	_, err = canvas.WriteTo(w)
	return err
}

// sans is the variant of the font without serifs.
const sans = "Sans"

// newPlot is an empty plot with that font everywhere.
func newPlot() *plot.Plot {
	p := plot.New()
	p.Title.TextStyle.Font.Variant = sans
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Variant, a.Tick.Label.Font.Variant = sans, sans
	}
	return p
}

// shades is the number of colours.
const shades = 255

// draw draws one heat map with its scale on the right.
func (p panel) draw(c draw.Canvas, h History) {
	g := p.grid(h)
	m := newPlot()
	m.Title.Text = p.title
	m.X.Label.Text = "step"
	m.Y.Tick.Marker = g.labels()
	m.X.Padding, m.Y.Padding = 0, 0
	low, high, ok := g.extent()
	if !ok {
		m.Title.Text += ": nothing to show"
		low, high = 0, 1
	}
	if high-low < 1e-3 { // one colour, in the middle of a scale
		low, high = low-0.5, high+0.5
	}
	colours := moreland.ExtendedBlackBody()
	colours.SetMin(low)
	colours.SetMax(high)
	m.Add(cells{g, colours})
	const scale = 2.4 * vg.Centimeter
	left := draw.Crop(c, 0, -scale-3*vg.Millimeter, 0, 0)
	m.Draw(left)
	data := m.DataCanvas(left)
	drawScale(draw.Crop(c, c.Max.X-c.Min.X-scale, 0, data.Min.Y-c.Min.Y, data.Max.Y-c.Max.Y), colours)
}

// drawScale draws what the colours stand for: values of which they show the decimal logarithm.
func drawScale(c draw.Canvas, colours palette.ColorMap) {
	s := newPlot()
	s.HideX()
	s.Y.Padding = 0
	s.Y.Tick.Marker = powers{}
	s.Add(&plotter.ColorBar{ColorMap: colours, Vertical: true, Colors: shades})
	s.Draw(c)
}

// cells draws the values of a grid as rectangles between the middles of neighbouring steps. They overlap a little: where edges only meet,
// pictures of lines and of points show a seam.
type cells struct {
	*grid
	colours palette.ColorMap
}

// Plot implements [plot.Plotter].
func (g cells) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	const overlap = 0.3
	for row, values := range g.values {
		for i, v := range values {
			shade, err := g.colours.At(v)
			if err != nil { // there is no value
				shade = color.Gray{Y: 200}
			}
			from, to := g.edges(i)
			left, right := x(from), min(x(to)+overlap, c.Max.X)
			bottom, top := y(float64(row)-0.5), min(y(float64(row)+0.5)+overlap, c.Max.Y)
			c.SetColor(shade)
			c.Fill(vg.Rectangle{Min: vg.Point{X: left, Y: bottom}, Max: vg.Point{X: right, Y: top}}.Path())
		}
	}
}

// DataRange implements [plot.DataRanger].
func (g cells) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, _ = g.edges(0)
	_, xmax = g.edges(len(g.steps) - 1)
	return xmin, xmax, -0.5, float64(len(g.names)) - 0.5
}

// powers labels an axis of decimal logarithms by the values themselves.
type powers struct{}

// Ticks implements [plot.Ticker]: 1, 2 and 5 of every power of ten, the latter two only where there are few.
func (powers) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for power := int(math.Floor(low)); power <= int(math.Ceil(high)); power++ {
		for _, m := range []float64{1, 2, 5} {
			at := float64(power) + math.Log10(m)
			if at < low || at > high {
				continue
			}
			label := strconv.FormatFloat(m*math.Pow(10, float64(power)), 'g', 2, 64)
			if m != 1 && high-low > 3 {
				label = ""
			}
			ticks = append(ticks, plot.Tick{Value: at, Label: label})
		}
	}
	if len(ticks) < 2 {
		return linear(low, high)
	}
	return ticks
}

// linear labels a range of logarithms that is too narrow for such values.
func linear(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for _, at := range []float64{low, (low + high) / 2, high} {
		ticks = append(ticks, plot.Tick{Value: at, Label: strconv.FormatFloat(math.Pow(10, at), 'g', 3, 64)})
	}
	return ticks
}
