package report

import (
	"image/color"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// CardRow is a line of a card: a claim and its verdict.
type CardRow struct{ ID, Text, Word, Mark string }

// Sizes of a card.
const (
	cardLine   = 15 // points
	cardHead   = 44
	cardChars  = 80 // of a line of text
	cardID     = 14
	cardText   = 48
	cardWord   = 470
	cardRadius = 4.2
	boldWeight = 3 // of package font
)

// markColours are green, red and yellow of the palette, which differ in brightness too.
var markColours = map[string]color.RGBA{"holds": {0x22, 0x88, 0x33, 0xff}, "fails": {0xee, 0x66, 0x77, 0xff}, "unsure": {0xcc, 0xbb, 0x44, 0xff}}

// wrapped cuts text into lines of at most n characters at spaces.
func wrapped(s string, n int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > n {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}

// cardHeight is the height of a card in points.
func cardHeight(rows []CardRow) vg.Length {
	n := 0.0
	for _, r := range rows {
		n += float64(len(wrapped(r.Text, cardChars))) + 0.35
	}
	return vg.Points(cardHead + n*cardLine + 10)
}

// drawCard draws the rows one below the other.
func (f Figure) drawCard(c draw.Canvas) {
	plain := draw.TextStyle{Color: ink, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(9.5)}, Handler: text.Plain{Fonts: font.DefaultCache}}
	bold := plain
	bold.Font.Weight = boldWeight
	head := bold
	head.Font.Size = vg.Points(11.5)
	put := func(s draw.TextStyle, x, y float64, t string) {
		c.FillText(s, vg.Point{X: vg.Points(x), Y: c.Max.Y - vg.Points(y)}, t)
	}
	put(head, cardID, 24, f.Title)
	y := float64(cardHead)
	for i, r := range f.Card {
		lines := wrapped(r.Text, cardChars)
		tall := (float64(len(lines)) + 0.35) * cardLine
		if i%2 == 0 {
			box := vg.Rectangle{Min: vg.Point{X: 0, Y: c.Max.Y - vg.Points(y+tall)}, Max: vg.Point{X: c.Max.X, Y: c.Max.Y - vg.Points(y)}}
			c.SetColor(color.RGBA{0xf6, 0xf8, 0xfa, 0xff})
			c.Fill(box.Path())
		}
		base := y + cardLine - 2
		put(bold, cardID, base, r.ID)
		for k, line := range lines {
			put(plain, cardText, base+float64(k)*cardLine, line)
		}
		c.DrawGlyph(draw.GlyphStyle{Color: markColours[r.Mark], Radius: vg.Points(cardRadius), Shape: draw.CircleGlyph{}}, vg.Point{X: vg.Points(cardWord), Y: c.Max.Y - vg.Points(base-3.4)})
		put(plain, cardWord+10, base, r.Word)
		y += tall
	}
}
