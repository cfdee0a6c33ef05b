package lab

import (
	"context"
	"math"
	"strings"
	"testing"

	"prenorm/kernels/ref"
)

// TestRecovery finds the coefficients of known polynomials again.
func TestRecovery(t *testing.T) {
	for _, degree := range []int{1, 2, 5, 24} {
		r := NewRecovery(degree)
		values := make([][]float64, degree+1)
		want := make([][]float64, degree+1)
		for k := range want {
			want[k] = []float64{math.Cos(float64(3 * k)), 1 / float64(k+1)}
		}
		for j, x := range r.Nodes {
			values[j] = make([]float64, 2)
			for k := range want {
				for i := range values[j] {
					values[j][i] += want[k][i] * math.Pow(x, float64(k))
				}
			}
		}
		for k, got := range r.Coefficients(values) {
			if e := distance(got, want[k]); e > 1e-15*r.Condition || math.IsNaN(e) {
				t.Errorf("degree %d, coefficient %d: error %g at condition %g", degree, k, e, r.Condition)
			}
		}
		// (1+sqrt 2)^degree is how the condition grows, up to a factor of the degree.
		if growth := math.Pow(1+math.Sqrt2, float64(degree)); r.Condition < growth/30 || r.Condition > 30*growth {
			t.Errorf("degree %d: condition %g, expected near %g", degree, r.Condition, growth)
		}
	}
}

func pathsTest(t *testing.T, layers int, variants ...string) map[string]Path {
	t.Helper()
	o := PathsOptions{Setup: "own", Variants: variants, Layers: layers, Width: 16, B: 1, T: 6, Seeds: []int64{5}}
	paths, err := Paths(context.Background(), ref.New(), o, quiet)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]Path{}
	for _, p := range paths {
		all[p.Variant] = p
		sum := 0.0
		for _, share := range p.Shares {
			sum += share
		}
		rounding := 1e-15 * p.Condition
		if len(p.Norms) != 2*layers+1 || !(p.SumError < rounding) || !(p.ZeroError < rounding) || math.Abs(sum-1) > rounding {
			t.Errorf("%s of %d blocks: %d parts, sum off by %g, k = 0 off by %g, shares sum to %g", p.Variant, layers, len(p.Norms), p.SumError, p.ZeroError, sum)
		}
	}
	return all
}

// TestPaths wants the parts of every placement's gradient to sum to the whole, and the parts to be those that the placement's equation has.
func TestPaths(t *testing.T) {
	all := pathsTest(t, 4, Setups()["own"].Names()...)
	for name, p := range all {
		untouched := name != "post" && name != "deepnorm" && name != "keel" && name != "b2t" && name != "hybrid" && name != "mix" && name != "residual" && name != "noskip"
		if got := p.TopError < 1e-13; got != untouched {
			t.Errorf("%s: the straight path arrives untouched: %v (differs by %g), want %v", name, got, p.TopError, untouched)
		}
		if name == "noskip" {
			for k, v := range p.Norms[:8] {
				if v > 1e-9*p.Whole {
					t.Errorf("noskip: paths of %d branches carry %g of %g; each passes all eight", k, v, p.Whole)
				}
			}
		}
		if name == "rezero" && math.Abs(p.Shares[0]-1) > 1e-12 {
			t.Errorf("rezero: the straight path carries %g, want all: the gates are closed", p.Shares[0])
		}
	}
	if post, deep := all["post"].PerNorm(), all["deepnorm"].PerNorm(); !(post < 0.95 && deep > post) {
		t.Errorf("the straight path keeps %.3f a sub-layer in post and %.3f in deepnorm", post, deep)
	}
}

// TestPathsDeep goes to the largest number of blocks.
func TestPathsDeep(t *testing.T) {
	pathsTest(t, MostPathBlocks, "pre", "post")
	o := DefaultPaths()
	o.Layers = MostPathBlocks + 1
	if _, err := Paths(context.Background(), ref.New(), o, quiet); err == nil || !strings.Contains(err.Error(), "1 to 12") {
		t.Errorf("%d blocks: %v", o.Layers, err)
	}
}

func TestPathsReport(t *testing.T) {
	o := PathsOptions{Setup: "norms", Variants: []string{"pre", "post"}, Layers: 2, Width: 16, B: 1, T: 4, Seeds: []int64{1, 2}}
	paths, err := Paths(context.Background(), ref.New(), o, quiet)
	if err != nil {
		t.Fatal(err)
	}
	page := PathsReport(o, paths)
	table := page.Sections[0].Tables[0]
	if len(table.Rows) != 2 || table.Rows[0][5] != "1.00" || len(table.Raw.Rows) != 2*2*5 {
		t.Errorf("table %v, %d raw rows", table.Rows, len(table.Raw.Rows))
	}
	if _, err := page.HTML(); err != nil {
		t.Error(err)
	}
}

// TestPathsTable holds the table against paths by hand: of two branches, 0.1 of the gradient passes none, 0.2 one and 0.7 both in one seed, and 0.3, 0.4
// and 0.3 in the other.
func TestPathsTable(t *testing.T) {
	paths := []Path{
		{Variant: "post", Layers: 1, Shares: []float64{0.1, 0.2, 0.7}, Straight: []float64{1, 4}, SumError: 1e-3, ZeroError: 2e-4},
		{Variant: "post", Layers: 1, Shares: []float64{0.3, 0.4, 0.3}, Straight: []float64{1, 4}, SumError: 2e-3, ZeroError: 1e-4},
	}
	page := PathsReport(PathsOptions{Setup: "norms", Variants: []string{"post", "pre"}, Layers: 1}, paths)
	if rows := page.Sections[0].Tables[0].Rows; len(rows) != 1 || strings.Join(rows[0], " ") != "post 0.200 0.300 0.500 1.30 0.500 2e-03 2e-04" {
		t.Errorf("table %v", rows)
	}
	straight := page.Sections[1].Figures[0].Series[0]
	if straight.Y[0] != 0.25 || straight.Y[1] != 1 || straight.X[1] != 1 {
		t.Errorf("straight path %+v", straight)
	}
}
