package report

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Line is a horizontal line of reference. Its name and value stand at its right end, outside the axes, where no line can cover them.
type Line struct {
	Name string
	Y    float64
}

// Sizes of the names of lines of reference.
const (
	nameSize  = 9  // points
	nameChars = 14 // of a line of text
	nameStem  = 10 // from the axes to the name, in points
	nameGap   = 2  // between two names
)

// acrossDashes tell lines of reference from each other: the first is dotted.
var acrossDashes = [][]vg.Length{dashes[2], dashes[3], dashes[1]}

// across draws a line of reference with its dashes.
func (f Figure) across(p *plot.Plot, l Line, dash []vg.Length) error {
	low, high := f.span()
	line, err := plotter.NewLine(plotter.XYs{{X: low, Y: l.Y}, {X: high, Y: l.Y}})
	if err != nil {
		return err
	}
	line.LineStyle = draw.LineStyle{Color: grey, Width: vg.Points(1), Dashes: dash}
	p.Add(line)
	return nil
}

// references are the lines of reference that can be drawn.
func (f Figure) references() (lines []Line) {
	low, _ := f.span()
	for _, l := range f.Lines {
		if !f.Bars && f.Card == nil && f.usable(low, l.Y) {
			lines = append(lines, l)
		}
	}
	return lines
}

// words are the lines of text beside a line of reference.
func (l Line) words() []string { return wrapped(l.Name+" "+Short(l.Y), nameChars) }

// nameStyle is that of lines' names.
func nameStyle() draw.TextStyle {
	return draw.TextStyle{Color: ink, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(nameSize)}, Handler: text.Plain{Fonts: font.DefaultCache}, YAlign: draw.YCenter}
}

// namesWidth is the room that the names of lines of reference take on the right of the axes.
func (f Figure) namesWidth() vg.Length {
	widest := vg.Length(0)
	for _, l := range f.references() {
		for _, words := range l.words() {
			widest = max(widest, nameStyle().Width(words))
		}
	}
	if widest == 0 {
		return 0
	}
	return widest + vg.Points(nameStem+2)
}

// drawNames draws the names beside the lines' ends, and stems to those that have to stand a little higher or lower so that none covers another.
func (f Figure) drawNames(p *plot.Plot, area draw.Canvas, c draw.Canvas) {
	data := p.DataCanvas(area)
	style := nameStyle()
	each := style.Height("Ag")
	var names []lineName
	for _, l := range f.references() {
		words := l.words()
		names = append(names, lineName{words: words, at: data.Y(p.Y.Norm(l.Y)), tall: vg.Length(len(words))*each + vg.Points(nameGap)})
	}
	for _, n := range spread(names, c.Min.Y, c.Max.Y) {
		c.StrokeLine2(draw.LineStyle{Color: grey, Width: vg.Points(0.7)}, data.Max.X+vg.Points(1), n.at, data.Max.X+vg.Points(nameStem-2), n.centre)
		for i, words := range n.words {
			y := n.centre + (vg.Length(len(n.words)-1)/2-vg.Length(i))*each
			c.FillText(style, vg.Point{X: data.Max.X + vg.Points(nameStem), Y: y}, words)
		}
	}
}

// lineName is the name of a line of reference: where the line is, and where the name.
type lineName struct {
	words      []string
	tall       vg.Length
	at, centre vg.Length
}

// spread places names as near to their lines as it can without one covering another, between low and high as long as there is room: those that would
// touch form a stack, whose middle is that of its lines.
func spread(names []lineName, low, high vg.Length) []lineName {
	slices.SortStableFunc(names, func(a, b lineName) int { return cmp.Compare(a.at, b.at) })
	type stack struct {
		names        []lineName
		bottom, tall vg.Length
	}
	settle := func(s *stack) {
		sum, below := vg.Length(0), vg.Length(0)
		for _, n := range s.names {
			sum += n.at - below - n.tall/2 // where the bottom would be for this one alone
			below += n.tall
		}
		s.tall = below
		s.bottom = max(low, min(high-s.tall, sum/vg.Length(len(s.names))))
	}
	var stacks []stack
	for _, n := range names {
		s := stack{names: []lineName{n}}
		settle(&s)
		for len(stacks) > 0 {
			last := stacks[len(stacks)-1]
			if last.bottom+last.tall <= s.bottom {
				break
			}
			stacks = stacks[:len(stacks)-1]
			s.names = append(slices.Clone(last.names), s.names...)
			settle(&s)
		}
		stacks = append(stacks, s)
	}
	names = names[:0:0]
	for _, s := range stacks {
		at := s.bottom
		for _, n := range s.names {
			n.centre = at + n.tall/2
			at += n.tall
			names = append(names, n)
		}
	}
	return names
}
