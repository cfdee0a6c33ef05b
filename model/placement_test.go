package model_test

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model"
	"prenorm/model/block"
)

// small is a model with a placement.
func small(placement string, layers int) model.Config {
	c := model.Default()
	c.Layers, c.Width, c.Heads, c.Context, c.Vocab, c.MLP = layers, 8, 2, 6, 11, "gelu_tanh"
	return c.WithPlacement(placement)
}

// TestPagesFitTheModel holds what a placement says of itself against the parameters that it declares: the norms of its diagram, its final norm,
// and its factor.
func TestPagesFitTheModel(t *testing.T) {
	perBlock := regexp.MustCompile(`^layers\.(\d+)\.(attn|mlp)_norm_`)
	for _, name := range block.Names() {
		p, _ := block.Lookup(name)
		table, err := model.Table(small(name, 4))
		if err != nil {
			t.Fatal(err)
		}
		norms, final := map[string]int{}, false
		for _, row := range table {
			if m := perBlock.FindStringSubmatch(row.Name); m != nil {
				norms[m[1]]++
			}
			final = final || row.Name == "norm.weight"
		}
		if final != p.FinalNorm {
			t.Errorf("%s: the page says of a final norm %v, the model %v", name, p.FinalNorm, final)
		}
		if said := strings.Contains(p.Equation, "y = Norm(x)") || strings.Contains(p.Equation, "y = x + Norm(r)"); final != said {
			t.Errorf("%s: the equation says of a final norm %v, the model %v: %s", name, said, final, p.Equation)
		}
		drawn := len(regexp.MustCompile(`Norm\w*`).FindAllString(strings.Split(p.Diagram.Forward, "the other blocks")[0], -1))
		switch name {
		case "hybrid":
			drawn-- // that on queries, keys and values is of the heads
		case "b2t": // a whole block, the others are one of two sub-layers
		default:
			drawn *= 2
		}
		for l, n := range norms {
			if n != drawn {
				t.Errorf("%s: block %s has %d norms, its diagram shows %d a block", name, l, n, drawn)
			}
		}
		if len(norms) == 0 && drawn > 0 {
			t.Errorf("%s: the diagram shows norms and the model has none", name)
		}
	}
}

// TestFactorFormulas holds the formula that pages show against the factor that models start with.
func TestFactorFormulas(t *testing.T) {
	formulas := map[string]func(n float64) float64{
		"":            func(float64) float64 { return 1 },
		"(8N)^(-1/4)": func(n float64) float64 { return math.Pow(8*n, -0.25) },
		"1/sqrt(N)":   func(n float64) float64 { return 1 / math.Sqrt(n) },
		"sqrt(ln 2N)": func(n float64) float64 { return math.Sqrt(math.Log(2 * n)) },
	}
	for _, name := range block.Names() {
		p, _ := block.Lookup(name)
		want, ok := formulas[p.Factor]
		if !ok {
			t.Errorf("%s: no formula %q in this test", name, p.Factor)
			continue
		}
		for _, n := range []int{4, 12, 48} {
			if got := p.BranchFactor(1, n); math.Abs(got-want(float64(n))) > 1e-12 {
				t.Errorf("%s: factor %g at N = %d, its formula gives %g", name, got, n, want(float64(n)))
			}
		}
	}
}

// logits runs a model in float64 on tokens, with weights of a seed that writers is multiplied into where a matrix writes to the stream.
func logits(t *testing.T, c model.Config, start model.Config, writers float64) []float64 {
	t.Helper()
	net, err := model.Build(c, model.Options{Mode: model.Logits, B: 1, T: c.Context, DType: kernels.F64})
	if err != nil {
		t.Fatal(err)
	}
	be := ref.New()
	plan, err := net.Plan(be, false)
	if err != nil {
		t.Fatal(err)
	}
	table, err := model.Table(start)
	if err != nil {
		t.Fatal(err)
	}
	slab, err := model.NewSlab(be, kernels.F64, table)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range table {
		values := slab.View(i).F64()
		for k, x := range p.Initial(3) {
			values[k] = float64(x)
			if strings.HasSuffix(p.Name, "o_proj.weight") || strings.HasSuffix(p.Name, "down_proj.weight") {
				values[k] *= writers
			}
		}
	}
	program, err := plan.Bind(slab.Views(""))
	if err != nil {
		t.Fatal(err)
	}
	tokens := make([]int32, c.Context)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range tokens {
		tokens[i] = int32(random.IntN(c.Vocab))
	}
	if err := program.Set(model.InTokens, tokens); err != nil {
		t.Fatal(err)
	}
	if err := program.Run(); err != nil {
		t.Fatal(err)
	}
	out := make([]float64, c.Context*c.Vocab)
	if err := program.Get(model.OutLogits, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAlphaOnEitherSide proves what deepnorm's page says: alpha on the skip is 1/alpha on the branch, because a norm does not see a factor on its
// input. A model with placement post whose branches end in matrices divided by alpha gives deepnorm's logits, but for eps.
func TestAlphaOnEitherSide(t *testing.T) {
	difference := func(eps float64) float64 {
		deep, post := small("deepnorm", 3), small("post", 3)
		deep.Norm.Eps, post.Norm.Eps = eps, eps
		alpha := math.Pow(2*3, 0.25)
		a, b := logits(t, deep, deep, 1), logits(t, post, deep, 1/alpha)
		worst := 0.0
		for i := range a {
			worst = max(worst, math.Abs(a[i]-b[i]))
		}
		return worst
	}
	if d := difference(1e-14); d > 1e-12 {
		t.Errorf("with eps 1e-14 the logits differ by %g, want rounding", d)
	}
	if d := difference(1e-3); d < 1e-6 || d > 1e-2 {
		t.Errorf("with eps 1e-3 the logits differ by %g: eps is what sets the two apart, so it must show", d)
	}
}
