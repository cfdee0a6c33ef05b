package report

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// TestSpread wants names beside their lines where there is room, in their order, none covering another, and within the figure.
func TestSpread(t *testing.T) {
	for name, c := range map[string]struct {
		at   []vg.Length
		want string
	}{
		"apart":            {[]vg.Length{80, 20, 50}, "20 50 80"},
		"touching":         {[]vg.Length{20, 30}, "20 30"},
		"close":            {[]vg.Length{50, 52}, "46 56"},
		"one on another":   {[]vg.Length{50, 50, 50}, "40 50 60"},
		"pushed together":  {[]vg.Length{40, 49, 58}, "39 49 59"},
		"at the top":       {[]vg.Length{99, 98}, "85 95"},
		"at the bottom":    {[]vg.Length{0, 3, 50}, "5 15 50"},
		"a stack at rest":  {[]vg.Length{1, 2, 24}, "5 15 25"},
		"nothing":          {nil, ""},
		"more than fit in": {[]vg.Length{50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50}, "5 15 25 35 45 55 65 75 85 95 105"},
	} {
		var names []lineName
		for _, at := range c.at {
			names = append(names, lineName{at: at, tall: 10})
		}
		var got []string
		for _, n := range spread(names, 0, 100) {
			got = append(got, fmt.Sprintf("%.0f", float64(n.centre)))
		}
		if line := strings.Join(got, " "); line != c.want {
			t.Errorf("%s: %s, want %s", name, line, c.want)
		}
	}
}

// shown is a text of a figure and where it stands.
type shown struct {
	words string
	x, y  float64
}

// labels are the texts of a figure that are not turned.
func labels(t *testing.T, f Figure) (list []shown) {
	t.Helper()
	svg, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := d.Token()
		if err != nil {
			return list
		}
		start, is := token.(xml.StartElement)
		if !is || start.Name.Local != "text" {
			continue
		}
		l := shown{}
		for _, a := range start.Attr {
			switch a.Name.Local {
			case "x":
				fmt.Sscan(a.Value, &l.x)
			case "y":
				fmt.Sscan(a.Value, &l.y)
			}
		}
		if words, is := mustToken(d).(xml.CharData); is {
			l.words = strings.TrimSpace(string(words))
		}
		list = append(list, l)
	}
}

func mustToken(d *xml.Decoder) xml.Token {
	token, _ := d.Token()
	return token
}

// TestReferencesAreNamed wants each line of reference to be named once, with its value, outside the axes and beside the legend, and no two names within
// a line of text of each other, on every kind of axis and however close the lines are.
func TestReferencesAreNamed(t *testing.T) {
	for _, lines := range [][]float64{{5.55, 3.3, 2.5}, {3.31, 3.3, 3.29}, {3, 3, 3}, {9, 0.01, 0.02}, {5.55, math.NaN(), math.Inf(1)}} {
		for kind := range 4 {
			f := Figure{Name: "loss", X: "step", Y: "nats", LogX: kind&1 > 0, LogY: kind&2 > 0, Lines: []Line{{"ln V", lines[0]}, {"unigram", lines[1]}, {"bigram", lines[2]}},
				Series: []Series{{Name: "training loss", X: []float64{1, 2, 3}, Y: []float64{5.6, 4, 2.4}}, {Name: "validation loss", X: []float64{3}, Y: []float64{3}}}}
			all := labels(t, f)
			legend := 0.0
			for _, l := range all {
				if l.words == "training loss" {
					legend = l.x
				}
			}
			var names []shown
			for i, l := range f.Lines {
				n := 0
				for _, seen := range all {
					if seen.words == l.Name+" "+Short(lines[i]) {
						names = append(names, seen)
						n++
					}
				}
				if want := map[bool]int{true: 1}[f.usable(1, l.Y)]; n != want {
					t.Errorf("%v, kind %d: %s is named %d times in %v", lines, kind, l.Name, n, all)
				}
			}
			for i, a := range names {
				if a.x < 300 || a.x > legend-40 {
					t.Errorf("%v, kind %d: %s stands at %g, the legend at %g", lines, kind, a.words, a.x, legend)
				}
				for _, b := range names[:i] {
					if math.Abs(a.y-b.y) < nameSize {
						t.Errorf("%v, kind %d: %s covers %s: %g and %g", lines, kind, a.words, b.words, a.y, b.y)
					}
				}
			}
		}
	}
}
