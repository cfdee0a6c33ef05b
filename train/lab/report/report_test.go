package report

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"prenorm/model/block"
)

// example is a page with everything that pages have, text that must be escaped, and values that cannot be drawn.
func example() Report {
	nan := math.NaN()
	lines := Figure{Name: "lines", Title: "Loss & <norm>", X: "step", Y: "nats", LogY: true, Lines: []Line{{"unigram entropy", 3.4}}, Note: "A note.",
		Series: []Series{{Name: "pre", X: []float64{1, 2, 3}, Y: []float64{5, 4, 3}, Low: []float64{4.5, 3.5, 2.5}, High: []float64{5.5, 4.5, 3.5}},
			{Name: "post", X: []float64{1, 2, 3}, Y: []float64{5, nan, math.Inf(1)}}, {Name: "rezero", X: []float64{1}, Y: []float64{0}}}}
	bars := Figure{Name: "bars", Title: "Damage", X: "block", Y: "nats", Bars: true, Labels: []string{"1", "2"}, Series: []Series{{Name: "pre", Y: []float64{0.5, 0.2}}, {Name: "lns", Y: []float64{0.4, nan}}}}
	card := Figure{Name: "card", Title: "Of 2 claims", Card: []CardRow{{"C1", strings.Repeat("a claim ", 30), "holds", "holds"}, {"C2", "<short>", "cannot be told", "unsure"}}}
	t := Table{Name: "rows", Caption: "Rows", Columns: []string{"placement", "loss"}, Marks: map[int]string{0: "holds"}}
	t.Row("a <b> & c", 3.14159)
	t.Raw = &Table{Columns: []string{"placement", "loss"}}
	t.Raw.Full("a, b", 3.14159)
	wide := Table{Name: "wide", Note: "loss: <validation>.", Columns: []string{"placement", "best rate", "warm-up", "validation loss", "lowest", "highest", "outcome", "parameters", "fastest step, ms"}}
	wide.Row("layerscale", "0.001", 100, "3.1234", "3.1234", "3.1234", "2 trains, 1 unigram", 1234567, 12.3)
	return Report{Title: "A page", Lead: "First.\n\nSecond.", Facts: []Fact{{"Width", "64"}},
		Sections: []Section{{Title: "One", Figures: []Figure{lines, bars, card}}, {Title: "Two", Text: "Some text.", Tables: []Table{t, wide}}, {Title: "Three"}}}
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	path, err := example().Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lines.png", "bars.png", "card.png"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if img, err := png.Decode(bytes.NewReader(data)); err != nil || img.Bounds().Dx() < 1000 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"lines.svg", "bars.svg", "card.svg"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := wellFormed(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	f, err := os.Open(filepath.Join(dir, "rows.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 2 || rows[1][0] != "a, b" || rows[1][1] != "3.14159" {
		t.Errorf("CSV holds %q, %v", rows, err)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h1>A page</h1>", `<p class="lead">Second.</p>`, "a &lt;b&gt; &amp; c", "<title>Loss &amp; &lt;norm&gt;</title>", ">unigram</text>", ">entropy 3.40</text>", "rezero (none)", `<tr class="holds">`, `<td class="n">3.14</td>`, `href="#s2"`} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, never := range []string{"<script", "http://", "https://", "<link", "@import", "NaN", "<?xml"} {
		if i := strings.Index(strings.ReplaceAll(string(page), "http://www.w3.org/2000/svg", ""), never); i >= 0 {
			t.Errorf("the page has %q", never)
		}
	}
}

// wellFormed reads XML to its end.
func wellFormed(data []byte) error {
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		if _, err := d.Token(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// TestSparse draws figures with one value and with none, on every kind of axis.
func TestSparse(t *testing.T) {
	for _, values := range [][]float64{{2}, {-1}, {0}, {math.NaN()}, {}, {3, 3}, {1e-300}, {1e300}} {
		for kind := range 5 {
			f := Figure{Name: "f", LogX: kind&1 > 0, LogY: kind&2 > 0, Bars: kind == 4, Labels: []string{"a"}, Lines: []Line{{"line", 1}}, Series: []Series{{Name: "s", Y: values}}}
			for i := range values {
				f.Series[0].X = append(f.Series[0].X, float64(i))
			}
			if svg, err := f.SVG(); err != nil || wellFormed(svg) != nil {
				t.Errorf("values %v, kind %d: %v", values, kind, err)
			}
		}
	}
}

// TestBarsFit wants bars to stand at the y axis, however long their labels are, and groups of them to stay apart.
func TestBarsFit(t *testing.T) {
	for _, places := range []int{1, 2, 3, 10, 12, 25, 60} {
		for series := range 4 {
			if series++; places*series > 130 {
				continue
			}
			f := Figure{Bars: true, Labels: slices.Repeat([]string{"a long label"}, places)}
			for range series {
				f.Series = append(f.Series, Series{Name: "pre", Y: slices.Repeat([]float64{1}, places)})
			}
			p, _, err := f.plot()
			if err != nil {
				t.Fatal(err)
			}
			if p.Y.Padding > vg.Points(2) {
				t.Errorf("%d places of %d: the y axis is %.0f points from the plot", places, series, p.Y.Padding)
			}
			unit := (width - legendWidth - vg.Points(50)) / vg.Length(p.X.Max-p.X.Min)
			if group := f.barWidth() * vg.Length(series); group > unit || group/2 > unit*vg.Length(-p.X.Min) {
				t.Errorf("%d places of %d: a group is %.0f points wide, a place %.0f", places, series, group, unit)
			}
		}
	}
}

// TestLongLabels wants labels of bars to lie flat where they fit, and aslant where they would cover each other.
func TestLongLabels(t *testing.T) {
	for _, c := range []struct {
		labels []string
		slant  bool
	}{
		{[]string{"english-prose", "go-code", "cjk"}, false},
		{[]string{"<16", "<32", "<64", "<128", "<256", "<512", "<1k", "<2k", "<4k", "<8k", "<16k", "<32k"}, false},
		{slices.Repeat([]string{"english-prose"}, 12), true},
		{append(slices.Repeat([]string{"a"}, 10), "a source of a long name", "another one"), true},
		{[]string{strings.Repeat("the only source ", 9)}, false},
		{nil, false},
	} {
		f := Figure{Bars: true, Labels: c.labels, Series: []Series{{Name: "pre", Y: make([]float64, len(c.labels))}, {Name: "post", Y: make([]float64, len(c.labels))}}}
		p, _, err := f.plot()
		if err != nil || p.X.Tick.Label.Rotation > 0 != c.slant {
			t.Errorf("%q: rotation %g, %v", c.labels, p.X.Tick.Label.Rotation, err)
		}
	}
}

// TestSame wants the same values to give the same bytes, so that committed figures change only with what they show.
func TestSame(t *testing.T) {
	a, err := example().HTML()
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := example().HTML(); !bytes.Equal(a, b) {
		t.Error("two pages of the same values differ")
	}
}

// TestLooks wants every placement to have a look of its own, the same in every figure, and what is drawn beside it to differ.
func TestLooks(t *testing.T) {
	looks := map[look]string{}
	for _, name := range append(block.Names(), "dyt") {
		if _, ok := known[name]; !ok {
			t.Errorf("%s has no look", name)
		}
		l := lookOf(name)
		if other, taken := looks[l]; taken {
			t.Errorf("%s and %s look alike", name, other)
		}
		looks[l] = name
		if lookOf(name+" 4 blocks") != l || lookOf(name+"+scaled") != l {
			t.Errorf("variants of %s have another look", name)
		}
	}
	f := Figure{Series: []Series{{Name: "pre"}, {Name: "post"}, {Name: "pre+scaled"}, {Name: "pre plain"}}}
	lines := f.styles()
	f.Bars = true
	bars := f.styles()
	for i := range lines {
		for k := range i {
			if lines[i].Color == lines[k].Color && len(lines[i].Dashes) == len(lines[k].Dashes) && (len(lines[i].Dashes) == 0 || lines[i].Dashes[0] == lines[k].Dashes[0]) {
				t.Errorf("lines of %s and %s look alike", f.Series[i].Name, f.Series[k].Name)
			}
			if bars[i].Color == bars[k].Color {
				t.Errorf("bars of %s and %s look alike", f.Series[i].Name, f.Series[k].Name)
			}
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		log       bool
		want      string
	}{
		{0, 48, false, "0 10 20 30 40"}, {0.93, 1.07, false, "0.94 0.96 0.98 1 1.02 1.04 1.06"}, {-2, 3, false, "-2 -1 0 1 2 3"},
		{0.004, 1.5, true, "0.005 0.01 0.02 0.05 0.1 0.2 0.5 1"}, {1e-6, 10, true, "1e-06 1e-05 1e-04 0.001 0.01 0.1 1 10"}, {2, 7, true, "2 3 4 5 6"},
	} {
		var labels []string
		for _, mark := range (ticks{log: c.log}).Ticks(c.low, c.high) {
			labels = append(labels, mark.Label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%g to %g: %s, want %s", c.low, c.high, got, c.want)
		}
	}
}

func TestMarkdown(t *testing.T) {
	tab := Table{Columns: []string{"a", "b"}}
	tab.Row("||x|| * <y>", 1.5)
	if got, want := tab.Markdown(), "| a | b |\n| --- | ---: |\n| \\|\\|x\\|\\| \\* &lt;y> | 1.50 |\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{0.0947: "0.0947", 0.5: "0.500", 3.14159: "3.14", 31.4159: "31.4", 314.159: "314", 0: "0", 0.99999: "1.00", -9.996: "-10.0", 99.96: "100", 0.09999: "0.100", 99999: "1.0e+05", 9.999e-4: "0.00100", 1.9e-5: "1.9e-05", -0.02: "-0.0200", 2.5e6: "2.5e+06"} {
		if got := Short(v); got != want {
			t.Errorf("%g is %s, want %s", v, got, want)
		}
	}
	if Short(math.NaN()) != "–" {
		t.Errorf("NaN is %s", Short(math.NaN()))
	}
}

// TestDrawn wants the legend in the order of the lines' right ends, bands in the range of the plot, and verdicts in green and red.
func TestDrawn(t *testing.T) {
	f := Figure{Series: []Series{{Name: "low", X: []float64{1, 2}, Y: []float64{9, 1}}, {Name: "high", X: []float64{1, 2}, Y: []float64{0, 5}}, {Name: "none"},
		{Name: "middle", X: []float64{1, 2}, Y: []float64{3, 3}, Low: []float64{-20, -20}, High: []float64{30, 30}}}}
	if order := f.ranking(); !slices.Equal(order, []int{1, 3, 0, 2}) {
		t.Errorf("the legend's order %v", order)
	}
	if p, _, err := f.plot(); err != nil || p.Y.Max < 30 || p.Y.Min > -20 {
		t.Errorf("from %g to %g, the band from -20 to 30; %v", p.Y.Min, p.Y.Max, err)
	}
	if good, bad, open := markColours["holds"], markColours["fails"], markColours["unsure"]; good.G <= good.R || bad.R <= bad.G || open == good || open == bad {
		t.Errorf("verdicts are %v, %v and %v", good, bad, open)
	}
	numbers := Table{Rows: [][]string{{"1.5", "+2", "a"}, {"–", "", "3"}}}
	if !numbers.numeric(0) || !numbers.numeric(1) || numbers.numeric(2) {
		t.Error("columns of numbers are not told from others")
	}
}
