package lab

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/cpu"
	"prenorm/kernels/ref"
	"prenorm/model"
)

func openCPU(t *testing.T) kernels.Backend {
	t.Helper()
	be := cpu.New(1)
	t.Cleanup(func() { _ = be.Close() })
	return be
}

func quiet(string) {}

// TestLaws measures models before training and holds them against every published figure, and against the exponents of an independent program.
func TestLaws(t *testing.T) {
	o := DefaultInit()
	o.Seeds = o.Seeds[:2]
	o.Variants = []string{"post", "pre", "pre+scaled", "deepnorm", "keel", "lns"}
	r, err := Init(context.Background(), openCPU(t), o, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, law := range Laws() {
		if v := law.Measure(r.Depths(law.Variant, 0)); !law.Holds(v) {
			t.Errorf("%s %s: %s: %.3f, band %g to %g", law.ID, law.Variant, law.Claim, v, law.Low, law.High)
		}
	}
	for _, name := range o.Variants {
		got, _ := Slopes(r.Depths(name, 0))
		if want := Reference(name); !(math.Abs(got-want) < 0.15) {
			t.Errorf("%s: the gradient goes as L^%.2f, the independent program has %.2f", name, got, want)
		}
	}
	page := r.Report()
	if text := page.Sections[0].Tables[1]; len(text.Rows) != len(Laws()) || text.Rows[0][5] != "holds" {
		t.Errorf("the page's laws: %v", text.Rows)
	}
	path, err := page.Write(t.TempDir())
	if err != nil || filepath.Base(path) != "report.html" {
		t.Errorf("page %s, %v", path, err)
	}
}

// TestNormsSetup holds shallow models of every variant against figures of the independent program: the last block's gradient at six blocks, by
// which a wrong embedding, head or initialisation shows.
func TestNormsSetup(t *testing.T) {
	want := map[string]float64{"post": .549, "pre": .272, "pre+scaled": .917, "deepnorm": .0947, "residual": 1.04, "sandwich": .375, "olmo2": .371, "lns": .168,
		"lns+scaled": .530, "hybrid": .523, "subln": .249, "b2t": .0953, "keel": .0443, "layerscale": .219, "dyt": .0073, "deepnorm+up": .396}
	o := DefaultInit()
	o.Depths = []int{6}
	for name := range want {
		o.Variants = append(o.Variants, name)
	}
	r, err := Init(context.Background(), openCPU(t), o, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for name, figure := range want {
		if got := r.Depths(name, 0)[0].Last.Mean; math.Abs(math.Log(got/figure)) > 0.2 {
			t.Errorf("%s: gradient %.4f, the independent program has %.4f", name, got, figure)
		}
	}
}

// TestNoGradientButByGates wants ReZero's branches to have no gradient before training.
func TestNoGradientButByGates(t *testing.T) {
	o := InitOptions{Setup: "norms", Variants: []string{"rezero"}, Depths: []int{2, 4}, Widths: []int{16}, Seeds: []int64{1}}
	r, err := Init(context.Background(), openCPU(t), o, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if d := r.Depths("rezero", 16); len(d) != 2 || d[1].Last.Mean != 0 || !(d[1].Stream.Mean > 0) {
		t.Errorf("rezero: %+v", d)
	}
}

// TestProbeInFloat64 wants the two backends to measure the same.
func TestProbeInFloat64(t *testing.T) {
	v, err := Setups()["norms"].Variant("residual", 16)
	if err != nil {
		t.Fatal(err)
	}
	var both [2]Snapshot
	for i, be := range []kernels.Backend{openCPU(t), ref.New()} {
		p, err := NewProbe(be, v.withLayers(3), ProbeOptions{B: 2, T: 5, DType: []kernels.DType{kernels.F32, kernels.F64}[i]})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Draw(Draws{}, 4, v.factor(3)); err != nil {
			t.Fatal(err)
		}
		if err := p.RandomBatch(4); err != nil {
			t.Fatal(err)
		}
		if both[i], err = p.snapshot(); err != nil {
			t.Fatal(err)
		}
	}
	a, b := both[0], both[1]
	for i, pair := range [][2]float64{{a.Loss, b.Loss}, {a.Final, b.Final}, {a.Dual, b.Dual}, {a.Down[0], b.Down[0]}, {a.Down[2], b.Down[2]}, {a.Stream[2], b.Stream[2]}, {a.Grad[0], b.Grad[0]}, {a.Grad[3], b.Grad[3]}} {
		if !(pair[1] > 0) || math.Abs(pair[0]/pair[1]-1) > 1e-4 {
			t.Errorf("figure %d: %g and %g", i, pair[0], pair[1])
		}
	}
}

// TestProbeOfBatchNorm wants a pass of a model with running statistics.
func TestProbeOfBatchNorm(t *testing.T) {
	c := model.Default()
	c.Layers, c.Width, c.Heads, c.KVHeads, c.FFN, c.Context, c.Vocab, c.Norm.Kind = 2, 16, 2, 2, 32, 8, 20, batchNorm
	p, err := NewProbe(openCPU(t), c, ProbeOptions{B: 2, T: 5, DType: kernels.F32})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Draw(Draws{}, 4, nil), p.RandomBatch(4)); err != nil {
		t.Fatal(err)
	}
	s, err := p.snapshot()
	if err != nil || !(s.Loss > 0) || !(s.Grad[0] > 0) {
		t.Errorf("%+v, %v", s, err)
	}
	if err := p.Free(); err != nil {
		t.Error(err)
	}
}

func TestInitRefuses(t *testing.T) {
	for want, o := range map[string]InitOptions{
		"no depths":            {Setup: "norms"},
		"ascending order":      {Setup: "norms", Depths: []int{4, 2}},
		"a multiple of 8":      {Setup: "norms", Depths: []int{2}, Widths: []int{12}},
		"fan_in, xavier or gp": {Setup: "own", Depths: []int{2}, Kind: "he"},
	} {
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	if _, err := Init(context.Background(), nil, InitOptions{Setup: "norms", Variants: []string{"none"}, Widths: []int{0}}, quiet); err == nil || !strings.Contains(err.Error(), `no placement "none"`) {
		t.Errorf("%v", err)
	}
}

// TestInitReport holds the tables against models by hand: gradients that fall as 1/L, a first block with twice the gradient of the last, and a stream
// that grows as the root of L, of which there is a second one that counts.
func TestInitReport(t *testing.T) {
	r := InitResult{Options: InitOptions{Setup: "norms", Variants: []string{"residual", "pre"}, Depths: []int{2, 8}, Seeds: []int64{1, 2}}}
	for _, n := range r.Options.Depths {
		for seed, scale := range []float64{1, 3} {
			m := Snapshot{Variant: "residual", Layers: n, Width: 64, Seed: int64(seed + 1), Loss: 5, Dual: math.Sqrt(float64(n)), Stream: make([]float64, n+1), Grad: make([]float64, n+1), Down: make([]float64, n)}
			for l := range n {
				m.Stream[l+1], m.Grad[l+1], m.Down[l] = 1, 7, scale/float64(n)
			}
			m.Down[0] *= 2
			r.Models = append(r.Models, m)
		}
	}
	page := r.Report()
	table := page.Sections[0].Tables[0]
	if len(table.Rows) != 1 || strings.Join(table.Rows[0], " ") != "residual 1.00 0.250 -1.00 +0.05 2.00 2.83 +0.50" {
		t.Errorf("table %v of %v", table.Rows, table.Columns)
	}
	if raw := table.Raw.Rows; len(raw) != 2*(3+9) || strings.Join(raw[1], " ") != "residual 64 2 1 1 1 7 1 5" || strings.Join(raw[0], " ") != "residual 64 2 1 0 0 0 NaN 5" {
		t.Errorf("rows %v", raw[:2])
	}
	deep := page.Sections[1].Figures
	if s := deep[1].Series[0]; s.X[0] != 1 || s.Y[0] != 0.5 || s.Y[7] != 0.25 {
		t.Errorf("gradients by block %+v", s)
	}
	if s := page.Sections[0].Figures[0].Series[0]; s.Low[1] != 1./8 || s.High[1] != 3./8 || s.X[1] != 8 {
		t.Errorf("gradients by depth %+v", s)
	}
}
