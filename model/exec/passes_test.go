package exec_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model"
	"prenorm/model/exec"
	"prenorm/model/graph"
)

// fusions counts the calls of a plan that each pass makes.
func fusions(p *exec.Plan) map[string]int {
	n := map[string]int{}
	for _, s := range p.Steps() {
		switch c := s.Call.(type) {
		case kernels.MatMul:
			for name, yes := range map[string]bool{"bias": c.Bias, "accumulate": c.Accumulate, "residual": c.Residual} {
				if yes {
					n[name]++
				}
			}
		case kernels.AddRMSNorm, kernels.AddLayerNorm:
			n["add-norm"]++
		case kernels.AddRMSNormGrad, kernels.AddLayerNormGrad:
			n["norm-grad-add"]++
		}
	}
	return n
}

// TestPassesFire wants the fused calls in training programs of LLaMA and GPT-2 blocks, and none of a pass that is switched off.
func TestPassesFire(t *testing.T) {
	llama, gpt2 := configs()["llama"], configs()["gpt2"]
	plain := gpt2
	plain.Dropout = 0
	const l = 3 // layers
	for _, c := range []struct {
		name       string
		config     model.Config
		accumulate bool
		without    string
		want       map[string]int
	}{
		// Sums of products: q, k and v come together in two of them, gate and up in one.
		{"llama", llama, false, "", map[string]int{"accumulate": 3 * l, "residual": 2 * l, "norm-grad-add": 2 * l}},
		{"llama", llama, false, "accumulate", map[string]int{"residual": 2*l + 3*l, "norm-grad-add": 2 * l}},
		{"llama", llama, false, "residual", map[string]int{"accumulate": 3 * l, "add-norm": 2 * l, "norm-grad-add": 2 * l}},
		{"llama", llama, false, "norm-grad-add", map[string]int{"accumulate": 3 * l, "residual": 2 * l}},
		// With micro-batches the gradients of seven matrices in each block are added in place as well.
		{"llama in micro-batches", llama, true, "", map[string]int{"accumulate": 3*l + 7*l, "residual": 2 * l, "norm-grad-add": 2 * l}},
		// Dropout stands between the products and the residual sums.
		{"gpt2", gpt2, false, "", map[string]int{"bias": 6 * l, "accumulate": 2 * l, "add-norm": 2 * l, "norm-grad-add": 2 * l}},
		{"gpt2", gpt2, false, "add-norm", map[string]int{"bias": 6 * l, "accumulate": 2 * l, "norm-grad-add": 2 * l}},
		{"gpt2", gpt2, false, "bias", map[string]int{"accumulate": 2 * l, "add-norm": 2 * l, "norm-grad-add": 2 * l}},
		// The sum of the two embeddings goes right into the first norm there.
		{"gpt2 without dropout", plain, false, "", map[string]int{"bias": 6 * l, "add-norm": 1, "accumulate": 2 * l, "residual": 2 * l, "norm-grad-add": 2 * l}},
	} {
		t.Run(c.name+" without "+c.without, func(t *testing.T) {
			spec := specOf(t, c.config, model.Options{B: 2, T: 9}, c.accumulate)
			if c.without != "" {
				spec.Without = []string{c.without}
			}
			p, err := exec.NewPlan(ref.New(), spec)
			if err != nil {
				t.Fatal(err)
			}
			if got := fusions(p); !maps.Equal(got, c.want) {
				t.Errorf("fused %v, wants %v", got, c.want)
			}
			spec.Without = exec.Passes()
			whole, err := exec.NewPlan(ref.New(), spec)
			if err != nil {
				t.Fatal(err)
			}
			fused := 0
			for _, s := range p.Steps() {
				fused += len(s.Fused)
			}
			if got := fusions(whole); len(got) > 0 || whole.Launches() != p.Launches()+fused || whole.FLOPs() != p.FLOPs() {
				t.Errorf("without passes: %v, %d launches and %d flops; with them %d launches, %d fused away, %d flops", got, whole.Launches(), whole.FLOPs(), p.Launches(), fused, p.FLOPs())
			}
		})
	}
}

// TestPassesKeepValues runs whole models of all kinds with each pass off and with all off. The reference computes in float64, so that in
// float64 nothing is rounded between the parts of a fused call: the results must be the same to the last bit.
func TestPassesKeepValues(t *testing.T) {
	for name, c := range configs() {
		for _, mode := range []model.Mode{model.Train, model.Eval, model.Logits, model.Cached} {
			t.Run(fmt.Sprintf("%s/%v", name, mode), func(t *testing.T) {
				spec := specOf(t, c, model.Options{Mode: mode, B: 2, T: 3, DType: kernels.F64}, mode == model.Train && c.Tied)
				run := func(without ...string) map[string][]float64 {
					spec.Without = without
					return execute(t, ref.New(), spec, kernels.F64, memoryFor(t, spec, kernels.F64))
				}
				want := run(exec.Passes()...)
				same(t, "all passes", run(), want)
				for _, p := range exec.Passes() {
					same(t, "without "+p, run(p), want)
				}
			})
		}
	}
}

// TestTapsAndPasses watches every value of random graphs at once, and some alone: what else the program computes, and what is seen, must
// keep its bits, though values that are watched are such as the passes do away with.
func TestTapsAndPasses(t *testing.T) {
	again := 0
	for seed := range graphs() {
		precision := []kernels.Precision{kernels.PrecisionFP32, kernels.PrecisionBF16}[seed/2%2]
		t.Run(fmt.Sprintf("%d/%s", seed, precision), func(t *testing.T) {
			r := newRandom(t, kernels.F32, uint64(seed), 3+seed%30)
			spec := r.spec(seed%2 == 0)
			spec.Outputs = spec.Outputs[:1] // the loss
			be := opened(t, precision)
			run := func(taps ...exec.Named) map[string][]float64 {
				s := spec
				s.Outputs = slices.Concat(spec.Outputs, taps)
				return execute(t, be, s, kernels.F32, memoryFor(t, s, kernels.F32))
			}
			var taps []exec.Named
			for i, n := range r.pool {
				taps = append(taps, exec.Named{Name: fmt.Sprintf("tap %d", i), Node: n})
			}
			plain, watched := run(), run(taps...)
			same(t, "all values watched", watched, plain)
			for i := seed % 5; i < len(taps); i += 5 {
				one := run(taps[i])
				same(t, taps[i].Name+" watched, results", one, plain)
				same(t, taps[i].Name+" watched", one, watched)
			}
			again += launches(t, be, spec, taps) - launches(t, be, spec, nil)
		})
	}
	if again < graphs()/2 {
		t.Errorf("%d values were computed once more in %d graphs: that tests too little", again, graphs())
	}
}

func launches(t *testing.T, be kernels.Backend, s exec.Spec, taps []exec.Named) int {
	t.Helper()
	s.Outputs = slices.Concat(s.Outputs, taps)
	p, err := exec.NewPlan(be, s)
	if err != nil {
		t.Fatal(err)
	}
	return p.Launches()
}

// refusing is the reference backend without certain calls.
type refusing struct {
	kernels.Backend
	refuse func(kernels.Call, kernels.Args) bool
}

func (b refusing) Precision() kernels.Precision { return kernels.PrecisionOf(b.Backend) }

func (b refusing) Workspace(c kernels.Call, a kernels.Args) (int, error) {
	if b.refuse(c, a) {
		return 0, fmt.Errorf("refused %T", c)
	}
	return b.Backend.Workspace(c, a)
}

// TestRefusedFusion wants each pass to leave the steps alone where the backend refuses its call, in whatever types it does so.
func TestRefusedFusion(t *testing.T) {
	spec := specOf(t, configs()["llama"], model.Options{B: 2, T: 9}, false)
	for _, precision := range []kernels.Precision{kernels.PrecisionFP32, kernels.PrecisionBF16} {
		for name, c := range map[string]struct {
			pass   string
			refuse func(kernels.Call, kernels.Args) bool
		}{
			"accumulate": {"accumulate", func(c kernels.Call, _ kernels.Args) bool { m, ok := c.(kernels.MatMul); return ok && m.Accumulate }},
			"residual":   {"residual", func(c kernels.Call, _ kernels.Args) bool { m, ok := c.(kernels.MatMul); return ok && m.Residual }},
			"a float32 gradient": {"norm-grad-add", func(c kernels.Call, a kernels.Args) bool {
				_, ok := c.(kernels.AddRMSNormGrad)
				return ok && a.In[2].DType == kernels.F32
			}},
			"a bfloat16 gradient": {"norm-grad-add", func(c kernels.Call, a kernels.Args) bool {
				_, ok := c.(kernels.AddRMSNormGrad)
				return ok && a.In[2].DType == kernels.BF16
			}},
		} {
			t.Run(fmt.Sprintf("%s/%s", name, precision), func(t *testing.T) {
				be := opened(t, precision)
				p, err := exec.NewPlan(refusing{be, c.refuse}, spec)
				if err != nil {
					t.Fatal(err)
				}
				all, err := exec.NewPlan(be, spec)
				if err != nil {
					t.Fatal(err)
				}
				got, had := fusions(p)[c.pass], fusions(all)[c.pass]
				if want := name == "a bfloat16 gradient" && precision == kernels.PrecisionFP32; had == 0 || (got == had) != want || (got == 0) == want {
					t.Errorf("%d fused calls, %d without the refusal", got, had)
				}
			})
		}
	}
}

// fusedAs wants a hand-made program to give the bits that it has without passes, to leave what it only reads as it was, and to have the
// given fused calls.
func fusedAs(t *testing.T, spec exec.Spec, want map[string]int) {
	t.Helper()
	p, err := exec.NewPlan(ref.New(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if got := fusions(p); !maps.Equal(got, want) {
		t.Errorf("fused %v, wants %v", got, want)
	}
	memory := memoryFor(t, spec, kernels.F64)
	fused := execute(t, ref.New(), spec, kernels.F64, memory)
	for name, v := range memoryFor(t, exec.Spec{External: spec.External}, kernels.F64) {
		if !slices.Equal(memory[name].F64(), v.F64()) {
			t.Errorf("%s was written over", name)
		}
	}
	spec.Without = exec.Passes()
	same(t, "fused", fused, execute(t, ref.New(), spec, kernels.F64, memoryFor(t, spec, kernels.F64)))
}

// TestNotInPlace adds products to what may not be written over: an operand of the product, a parameter, an input and a value that the caller
// gets.
func TestNotInPlace(t *testing.T) {
	for name, into := range map[string]bool{"operand": false, "parameter": false, "input": false, "value of the caller": true} {
		t.Run(name, func(t *testing.T) {
			g := graph.New(kernels.F64)
			s := g.Root()
			a, w := s.Param("a", graph.Matrix, 6, 6), s.Param("w", graph.Matrix, 6, 6)
			half := s.Scale("half", a, 0.5)
			base, factor := half, a
			switch name {
			case "operand":
				factor = half
			case "parameter":
				base, factor = a, half
			case "input":
				base = s.Constant("input", slices.Repeat([]float64{0.25}, 36), 6, 6)
			}
			sum := s.Add("sum", base, s.Apply("product", kernels.MatMul{}, factor, w))
			spec := specFor(t, g, exec.Named{Name: "y", Node: s.Scale("y", sum, 2)})
			if into {
				spec.Into = []exec.Named{{Name: "half", Node: half}}
			}
			fusedAs(t, spec, map[string]int{"residual": 1})
		})
	}
}

// TestWhatLiesBetween watches the two values inside a linear layer that a residual sum follows, and has them go to memory of the caller:
// watched, they are made besides the one fused call; of the caller, they stay and are not fused.
func TestWhatLiesBetween(t *testing.T) {
	g := graph.New(kernels.F64)
	s := g.Root()
	x := s.Param("x", graph.Matrix, 6, 6)
	product := s.Apply("product", kernels.MatMul{TransB: true}, x, s.Param("w", graph.Matrix, 4, 6))
	biased := s.Apply("biased", kernels.AddBias{}, product, s.Param("b", graph.Bias, 4))
	y := s.Add("sum", s.Param("r", graph.Matrix, 6, 4), biased)
	spec := specFor(t, g, exec.Named{Name: "y", Node: y})
	fusedAs(t, spec, map[string]int{"bias": 1, "residual": 1})
	between := []exec.Named{{Name: "product", Node: product}, {Name: "biased", Node: biased}}
	watched := spec
	watched.Outputs = append(slices.Clone(spec.Outputs), between...)
	fusedAs(t, watched, map[string]int{"bias": 2, "residual": 1}) // one for what is watched, one in the residual sum
	spec.Into = between
	fusedAs(t, spec, map[string]int{})
}

// TestTwoBiases adds two biases to one product, of which a call takes one.
func TestTwoBiases(t *testing.T) {
	g := graph.New(kernels.F64)
	s := g.Root()
	y := s.Apply("product", kernels.MatMul{}, s.Param("x", graph.Matrix, 6, 6), s.Param("w", graph.Matrix, 6, 4))
	for _, name := range []string{"one", "two"} {
		y = s.Apply("add "+name, kernels.AddBias{}, y, s.Param(name, graph.Bias, 4))
	}
	fusedAs(t, specFor(t, g, exec.Named{Name: "y", Node: y}), map[string]int{"bias": 1})
}

// TestChainInPlace wants one buffer for a chain of calls of which each may write over what it reads.
func TestChainInPlace(t *testing.T) {
	g := graph.New(kernels.F64)
	s := g.Root()
	y := s.Scale("first", s.Param("x", graph.Matrix, 6, 8), 2)
	for i := range 4 {
		y = s.Scale(fmt.Sprintf("scale%d", i), y, 2)
	}
	p, err := exec.NewPlan(ref.New(), specFor(t, g, exec.Named{Name: "y", Node: s.Apply("y", kernels.Activation{Kind: "silu"}, y)}))
	if err != nil {
		t.Fatal(err)
	}
	if p.Bytes() != 2*6*8*8 || p.InPlace() != 4 {
		t.Errorf("%d steps in place, an arena of %d bytes", p.InPlace(), p.Bytes())
	}
}

// cached is a graph that reads a cache before and after it is written, and adds up what it read.
func cached(t *testing.T, dtype kernels.DType) exec.Spec {
	t.Helper()
	g := graph.New(dtype)
	s := g.Root()
	const context, width = 4, 6
	w := s.Param("w", graph.Matrix, width, width)
	cache := s.State("cache", context, width)
	before := s.Apply("before", kernels.MatMul{TransB: true}, cache, w)
	written := s.Apply("write", kernels.CacheWrite{T: context, Context: context}, cache, s.Scale("new", s.Param("rows", graph.Matrix, context, width), 3), s.IntConstant("position", []int32{0}, 1))
	after := s.Apply("after", kernels.MatMul{TransB: true}, written, w)
	half := s.Scale("half", after, 0.5)
	return specFor(t, g, exec.Named{Name: "sum", Node: s.Add("sum", s.Add("inner", before, half), after)})
}

// TestFusionKeepsOrder wants the product of a cache's old rows to stay before the step that overwrites them. What it is added to comes after
// that step.
func TestFusionKeepsOrder(t *testing.T) {
	spec := cached(t, kernels.F64)
	fused := execute(t, ref.New(), spec, kernels.F64, memoryFor(t, spec, kernels.F64))
	spec.Without = exec.Passes()
	same(t, "a cache that is written", fused, execute(t, ref.New(), spec, kernels.F64, memoryFor(t, spec, kernels.F64)))
}
