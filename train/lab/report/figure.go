package report

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"math"
	"regexp"
	"slices"

	"gonum.org/v1/plot"
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
	Card       []CardRow // in place of a plot
}

// Series is one line. Low and High, where they are given, are a band around it.
type Series struct {
	Name      string
	X, Y      []float64
	Low, High []float64
}

// size of a figure, and of its legend on the right.
const (
	width       = 8.2 * vg.Inch
	height      = 4.1 * vg.Inch
	legendWidth = 1.75 * vg.Inch
)

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
	styles := f.styles()
	if f.Bars {
		return p, &legend, f.bars(p, &legend, styles)
	}
	for i, s := range f.Series {
		if err := f.band(p, s, styles[i]); err != nil {
			return nil, nil, fmt.Errorf("series %s: %w", s.Name, err)
		}
	}
	lines := make(map[int][]plot.Thumbnailer)
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
		legend.Add(f.Series[i].Name, lines[i]...)
	}
	for i, l := range f.references() {
		if err := f.across(p, l, acrossDashes[i%len(acrossDashes)]); err != nil {
			return nil, nil, err
		}
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

// height is the figure's height.
func (f Figure) height() vg.Length {
	if f.Card != nil {
		return cardHeight(f.Card)
	}
	return height
}

// draw puts plot and legend on a canvas.
func (f Figure) draw(c vg.CanvasSizer) error {
	dc := draw.New(c)
	dc.SetColor(color.White)
	dc.Fill(dc.Rectangle.Path())
	if f.Card != nil {
		f.drawCard(dc)
		return nil
	}
	p, legend, err := f.plot()
	if err != nil {
		return err
	}
	right := legendWidth
	if f.Bars && len(f.Series) == 1 {
		right = 0
	}
	whole := draw.Crop(dc, vg.Points(6), -right-vg.Points(6), vg.Points(6), -vg.Points(6))
	area := draw.Crop(whole, f.labelY(p, whole), -f.namesWidth(), 0, 0)
	p.Draw(area)
	f.drawNames(p, area, whole)
	if right > 0 {
		legend.Draw(draw.Crop(dc, width-right, 0, 0, -vg.Points(30)))
	}
	return nil
}

// labelY draws the name of the y axis and returns the width that it takes. The plotting library would reserve room above the plot for it on
// logarithmic axes, where it takes the middle of the values for that of the axis.
func (f Figure) labelY(p *plot.Plot, c draw.Canvas) vg.Length {
	if f.Y == "" {
		return 0
	}
	style := p.X.Label.TextStyle
	style.Rotation, style.XAlign, style.YAlign = math.Pi/2, draw.XCenter, draw.YTop
	data := p.DataCanvas(c)
	c.FillText(style, vg.Point{X: c.Min.X, Y: data.Center().Y}, f.Y)
	return style.Height(f.Y) + vg.Points(6)
}

var (
	svgHead = regexp.MustCompile(`(?s)^.*?<svg [^>]*>`)
	svgFont = regexp.MustCompile(`font-family:[^;"]*(;font-variant:none)?`)
)

// SVG is the figure as a file of its own.
func (f Figure) SVG() ([]byte, error) {
	c := vgsvg.New(width, f.height())
	if err := f.draw(c); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	text := svgFont.ReplaceAll(b.Bytes(), []byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif"))
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.4g %.4g" role="img"><title>%s</title>`,
		width.Points()*4/3, f.height().Points()*4/3, width.Points(), f.height().Points(), escape(f.Title))
	return svgHead.ReplaceAllLiteral(text, []byte(head)), nil
}

// resolution of PNG files, in dots an inch.
const resolution = 150

// PNG is the figure as an image.
func (f Figure) PNG() ([]byte, error) {
	c := vgimg.NewWith(vgimg.UseWH(width, f.height()), vgimg.UseDPI(resolution))
	if err := f.draw(c); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(&b)
	return b.Bytes(), err
}
