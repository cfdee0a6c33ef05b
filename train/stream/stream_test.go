package stream

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	_ "image/png"
	"io"
	"math"
	"strings"
	"testing"

	"prenorm/train/metrics"
)

// made is a history whose stream grows as the root of depth and whose gradient is 10 to the minus layer.
func made(layers int, steps ...int64) History {
	var h History
	for _, step := range steps {
		r := metrics.Inspect{Step: step}
		for i := range 2 * layers {
			name := "layers." + string(rune('0'+i/2)) + "." + [2]string{"attn", "mlp"}[i%2]
			r.Sublayers = append(r.Sublayers, metrics.Sublayer{Name: name, In: metrics.Float(math.Sqrt(float64(i))), Out: metrics.Float(3 * math.Sqrt(float64(i+1))),
				Max: metrics.Float(10 + i), Ratio: metrics.Float([]float64{0.1, 0.4}[i%2]), Grad: metrics.Float(math.Pow(10, -float64(i))), Straight: 2, Through: 1})
		}
		h = append(h, r)
	}
	return h
}

func TestTrend(t *testing.T) {
	r := made(3, 7)[0]
	r.Sublayers[0].In = 2
	r.Sublayers = append(r.Sublayers, metrics.Sublayer{Name: "layers.2.mlp.r", Out: 1e6, Max: 1e6})
	got := TrendOf(r)
	want := Trend{Step: 7, First: 2, Last: 3 * math.Sqrt(6), Slope: 0.5, Max: 15, Ratio: 0.2, Top: 1e-5, Bottom: 1, Straight: 0.8}
	for i, pair := range [][2]float64{{got.First, want.First}, {got.Last, want.Last}, {got.Slope, want.Slope}, {got.Max, want.Max}, {got.Ratio, want.Ratio},
		{got.Top, want.Top}, {got.Bottom, want.Bottom}, {got.Straight, want.Straight}} {
		if math.Abs(pair[0]-pair[1]) > 1e-12*math.Abs(pair[1]) {
			t.Errorf("figure %d: %+v, want %+v", i, got, want)
		}
	}
}

func TestGroups(t *testing.T) {
	list := []metrics.Matrix{{Name: "embed_tokens.weight", Weight: 1, Grad: 2, Ratio: 5},
		{Name: "layers.0.mlp.up_proj.weight", Weight: 3, Grad: 1, Ratio: 0.3}, {Name: "layers.1.mlp.up_proj.weight", Weight: 4, Grad: 0.5, Ratio: 0.1}}
	g := Groups(list)
	if len(g) != 2 || g[0].Name != "embed_tokens.weight" || g[1].Name != "mlp.up_proj.weight" || g[1].Count != 2 {
		t.Fatalf("groups %+v", g)
	}
	if u := g[1]; u.Low != 0.1 || u.Median != 0.2 || u.High != 0.3 || u.Least != 0.5 || math.Abs(u.Weight-math.Sqrt(12.5)) > 1e-12 {
		t.Errorf("group %+v", u)
	}
}

// TestDraw draws every format, with holes, a single step and one value for all, and looks at what came out.
func TestDraw(t *testing.T) {
	holes := made(3, 1, 50, 100, 137)
	holes[1].Sublayers[2].Ratio = metrics.Float(math.NaN())
	holes[2].Sublayers[3].Grad = 0
	flat := made(1, 5)
	for i := range flat[0].Sublayers {
		flat[0].Sublayers[i].Straight = 0
		flat[0].Sublayers[i].Grad = 1
	}
	for _, h := range []History{holes, flat, made(40, 1, 2)} {
		for _, format := range Formats {
			var b bytes.Buffer
			if err := Draw(&b, h, "a run", format); err != nil {
				t.Fatal(err)
			}
			switch format {
			case "png":
				picture, _, err := image.Decode(&b)
				if err != nil {
					t.Fatal(err)
				}
				if n := colours(picture); n < 50 {
					t.Errorf("a picture of %d colours", n)
				}
			case "svg":
				wholeXML(t, b.String(), "a run", "branch / stream, RMS", "0 attn")
			default:
				if !strings.HasPrefix(b.String(), "%PDF") {
					t.Error("no PDF")
				}
			}
		}
	}
}

func colours(m image.Image) int {
	seen := map[color.Color]bool{}
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
			seen[m.At(x, y)] = true
		}
	}
	return len(seen)
}

// wholeXML wants a document that parses and holds texts.
func wholeXML(t *testing.T, text string, words ...string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("the picture does not say %q", w)
		}
	}
}

func TestFormat(t *testing.T) {
	for path, want := range map[string]string{"a.png": "png", "b/c.SVG": "svg", "x.pdf": "pdf", "x.jpg": "", "x": ""} {
		got, err := Format(path)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}

// TestEdges wants columns to touch, and the outer ones to be as wide on both sides.
func TestEdges(t *testing.T) {
	g := panels[0].grid(made(1, 1, 10, 30))
	want := [][2]float64{{-3.5, 5.5}, {5.5, 20}, {20, 40}}
	for i, w := range want {
		if from, to := g.edges(i); from != w[0] || to != w[1] {
			t.Errorf("column %d is %g to %g, wants %v", i, from, to, w)
		}
	}
}

// TestTicks wants every scale to have two numbers at least.
func TestTicks(t *testing.T) {
	for _, r := range [][2]float64{{-4.3, -2.8}, {0, 1}, {0.1, 0.12}, {-9, 3}, {-0.5, 0.5}} {
		labels := 0
		for _, tick := range (powers{}).Ticks(r[0], r[1]) {
			if tick.Label != "" {
				labels++
			}
			if tick.Value < r[0] || tick.Value > r[1] {
				t.Errorf("%v: a tick at %g", r, tick.Value)
			}
		}
		if labels < 2 || labels > 14 {
			t.Errorf("%v: %d labels", r, labels)
		}
	}
}

// TestPanels wants each panel to show what its title says, as a decimal logarithm.
func TestPanels(t *testing.T) {
	h := made(1, 3)
	h[0].Sublayers[1] = metrics.Sublayer{Name: "layers.0.mlp", In: 3, Out: 100, Ratio: 0.01, Grad: 1e-5, Straight: 2, Through: 2000}
	for i, want := range []float64{2, -2, -5, 3} {
		if g := panels[i].grid(h); math.Abs(g.values[1][0]-want) > 1e-12 || g.names[1] != "0 mlp" || g.steps[0] != 3 {
			t.Errorf("%s: %+v, want %g", panels[i].title, g, want)
		}
	}
	h[0].Sublayers[0].Max = 77
	if m := TrendOf(h[0]).Max; m != 77 {
		t.Errorf("the largest value is %g", m)
	}
}
