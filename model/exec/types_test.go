package exec_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model"
	"prenorm/model/exec"
	"prenorm/model/graph"
)

// typesOf lists the types of all values of a program: "path: outputs | statistics <- inputs".
func typesOf(p *exec.Plan) []string {
	names := func(views []kernels.View) string {
		var out []string
		for _, v := range views {
			out = append(out, v.DType.String())
		}
		return strings.Join(out, " ")
	}
	var lines []string
	for _, s := range p.Steps() {
		line := s.Path + ": " + names(s.Args.Out)
		if len(s.Args.Aux) > 0 {
			line += " | " + names(s.Args.Aux)
		}
		if strings.HasPrefix(line, "gradient sum") {
			line = "gradient sum" + line[strings.Index(line, ":"):]
		}
		lines = append(lines, line+" <- "+names(s.Args.In))
	}
	return lines
}

// TestTypes holds the types of all values of a block of each kind against a table.
func TestTypes(t *testing.T) {
	for name, want := range map[string]string{"llama": llamaTypes, "gpt2": gpt2Types} {
		c := configs()[name]
		c.Layers = 1
		_, p := plan(t, opened(t, kernels.PrecisionBF16), c, model.Options{B: 2, T: 9})
		got := typesOf(p)
		lines := strings.Split(strings.TrimSpace(want), "\n")
		for i := range max(len(got), len(lines)) {
			if i >= len(got) || i >= len(lines) || got[i] != lines[i] {
				t.Errorf("%s: launch %d differs from the table:\n%s", name, i, strings.Join(got, "\n"))
				break
			}
		}
	}
}

// narrow says whether a program has bfloat16 values.
func narrow(p *exec.Plan) bool {
	return slices.ContainsFunc(p.Steps(), func(s exec.StepInfo) bool { return kernels.Narrow(s.Args) })
}

// TestWhereBF16 wants bfloat16 in programs of that precision only, in all of those but the cached ones, and in none of float64.
func TestWhereBF16(t *testing.T) {
	for name, c := range configs() {
		for _, mode := range []model.Mode{model.Train, model.Eval, model.Logits, model.Cached} {
			for _, precision := range []kernels.Precision{kernels.PrecisionFP32, kernels.PrecisionBF16} {
				for _, dtype := range []kernels.DType{kernels.F32, kernels.F64} {
					_, p := plan(t, opened(t, precision), c, model.Options{Mode: mode, B: 2, T: 3, DType: dtype})
					if want := precision == kernels.PrecisionBF16 && mode != model.Cached && dtype == kernels.F32; narrow(p) != want {
						t.Errorf("%s %v %s %v: bfloat16 values %v, wants %v", name, mode, precision, dtype, narrow(p), want)
					}
				}
			}
		}
	}
}

// TestConversions wants each matrix to be converted once, for forward and backward, other parameters never, and everything that the caller
// holds to stay float32.
func TestConversions(t *testing.T) {
	for name, c := range configs() {
		net, p := plan(t, opened(t, kernels.PrecisionBF16), c, model.Options{B: 2, T: 9})
		seen := map[string]int{}
		for _, s := range p.Steps() {
			if s.Kernel == "convert" {
				seen[strings.TrimPrefix(s.Path, "convert ")]++
			}
		}
		for _, row := range net.Table() {
			want := 1
			if len(row.Shape) < 2 || strings.HasPrefix(row.Name, "embed") && !(c.Tied && row.Name == "embed_tokens.weight") {
				want = 0
			}
			if seen[row.Name] != want {
				t.Errorf("%s: %s is converted %d times, wants %d", name, row.Name, seen[row.Name], want)
			}
		}
		for path, n := range seen {
			if n != 1 {
				t.Errorf("%s: %s is converted %d times", name, path, n)
			}
		}
		memory := memoryFor(t, specOf(t, c, model.Options{B: 2, T: 9}, false), kernels.F32)
		if _, err := p.Bind(memory); err != nil { // it refuses memory of another type
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBF16SavesMemory wants a smaller arena where activations are most of it, and less to be moved.
func TestBF16SavesMemory(t *testing.T) {
	for _, name := range []string{"llama", "gpt2"} {
		c := configs()[name]
		var bytes, moved [2]int64
		for i, precision := range []kernels.Precision{kernels.PrecisionFP32, kernels.PrecisionBF16} {
			_, p := plan(t, opened(t, precision), c, model.Options{B: 64, T: 9})
			bytes[i] = int64(p.Bytes())
			for _, s := range p.Steps() {
				moved[i] += s.Bytes
			}
		}
		t.Logf("%s: arena %d bytes, in bfloat16 %d; moved %d and %d", name, bytes[0], bytes[1], moved[0], moved[1])
		if float64(bytes[1]) > 0.75*float64(bytes[0]) || float64(moved[1]) > 0.8*float64(moved[0]) {
			t.Errorf("%s: arena %d bytes, in bfloat16 %d; moved %d and %d", name, bytes[0], bytes[1], moved[0], moved[1])
		}
	}
}

// TestPostNormStream wants the output of a norm that is the residual stream and the input of products to be float32, with one copy for the
// products.
func TestPostNormStream(t *testing.T) {
	g := graph.New(kernels.F32)
	s := g.Root()
	x := s.Param("x", graph.Matrix, 6, 8)
	for i := range 2 {
		x = s.Add(fmt.Sprintf("residual%d", i), x, s.Linear(fmt.Sprintf("linear%d", i), graph.Matrix, x, 8, true))
		x = s.RMSNorm(fmt.Sprintf("norm%d", i), x, 8, 1e-5, false)
	}
	loss := s.LinearCrossEntropy(x, s.Param("head", graph.Head, 5, 8), s.IntConstant("targets", []int32{0, 1, 2, 3, 4, 0}, 6), s.Constant("normaliser", []float64{6}, 1), 0)
	spec := specFor(t, g, exec.Named{Name: "loss", Node: loss})
	spec.Into = []exec.Named{{Name: "grad.x", Node: g.Backward(loss)[0]}}
	for _, without := range [][]string{nil, {"residual"}, exec.Passes()} {
		spec.Without = without
		p, err := exec.NewPlan(opened(t, kernels.PrecisionBF16), spec)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Join(typesOf(p), "\n")
		copies := strings.Count(lines, "convert norm0.rmsnorm: bf16 <- f32")
		if !strings.Contains(lines, "norm0.rmsnorm: f32") || !strings.Contains(lines, "norm1.rmsnorm: bf16") || copies != 1 {
			t.Errorf("without %v: the first norm's output is the stream, the second's only the head's input:\n%s", without, lines)
		}
	}
}

// TestWhatTheCallerHolds wants values that go to memory of the caller to be float32 there: a product is made so and converted for those that
// read it as bfloat16, a value that its call makes bfloat16 is widened behind it.
func TestWhatTheCallerHolds(t *testing.T) {
	g := graph.New(kernels.F32)
	s := g.Root()
	x, w := s.Param("x", graph.Matrix, 6, 8), s.Param("w", graph.Matrix, 8, 8)
	product := s.Apply("product", kernels.MatMul{}, x, w)
	attention := s.Apply("attention", kernels.Attention{Heads: 2, KVHeads: 2, HeadDim: 4, T: 6, Scale: 0.5}, product, product, x)
	spec := specFor(t, g, exec.Named{Name: "y", Node: s.Apply("y", kernels.MatMul{}, attention, w)})
	spec.Into = []exec.Named{{Name: "into product", Node: product}, {Name: "into attention", Node: attention}}
	be := opened(t, kernels.PrecisionBF16)
	p, err := exec.NewPlan(be, spec)
	if err != nil {
		t.Fatal(err)
	}
	got, want := typesOf(p), []string{
		"convert x: bf16 <- f32", "convert w: bf16 <- f32", "product: f32 <- bf16 bf16", "convert into product: bf16 <- f32",
		"attention: bf16 <- bf16 bf16 bf16", "convert attention: f32 <- bf16", "convert into attention: bf16 <- f32", "y: f32 <- bf16 bf16",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the program is\n%s", strings.Join(got, "\n"))
	}
	wide := execute(t, ref.New(), spec, kernels.F32, memoryFor(t, spec, kernels.F32))
	for name, out := range execute(t, be, spec, kernels.F32, memoryFor(t, spec, kernels.F32)) {
		if e := floats.Distance(out, wide[name], 2) / floats.Norm(wide[name], 2); !(e < 0.01) || e == 0 {
			t.Errorf("%s is wrong by %.4f of its norm", name, e)
		}
	}
}

// TestBaseOfASum wants a product that another is added to in place to be float32, whoever reads it before.
func TestBaseOfASum(t *testing.T) {
	g := graph.New(kernels.F32)
	s := g.Root()
	x, w := s.Param("x", graph.Matrix, 6, 8), s.Param("w", graph.Matrix, 8, 8)
	base := s.Apply("base", kernels.MatMul{}, x, w)
	before := s.Apply("before", kernels.MatMul{}, base, w)
	sum := s.Add("sum", base, s.Apply("product", kernels.MatMul{}, x, w)) // in place of the base, so that no product of it may come later
	total := s.Add("total", sum, before)
	p, err := exec.NewPlan(opened(t, kernels.PrecisionBF16), specFor(t, g, exec.Named{Name: "y", Node: s.Apply("y", kernels.MatMul{}, total, w)}))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Join(typesOf(p), "\n")
	for _, want := range []string{"base: f32 <- bf16 bf16", "convert base: bf16 <- f32", "product: f32 <- bf16 bf16", "total: f32 <- f32 f32"} {
		if !strings.Contains(lines, want) {
			t.Errorf("no %q in\n%s", want, lines)
		}
	}
	if n := fusions(p); !maps.Equal(n, map[string]int{"accumulate": 1}) {
		t.Errorf("fused %v", n)
	}
}
