package exec_test

import (
	"maps"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model/exec"
	"prenorm/model/graph"
)

// asked is the reference backend, which wants to be asked only for calls that its views can be those of: a pass must not lean on being refused.
type asked struct {
	kernels.Backend
	t *testing.T
}

func (b asked) Workspace(c kernels.Call, a kernels.Args) (int, error) {
	if _, _, err := c.Infer(a.In); err != nil {
		b.t.Errorf("asked for %+v of %d views: %v", c, len(a.In), err)
	}
	return b.Backend.Workspace(c, a)
}

// TestAskedForWhatThereIs has two of what a call takes one of: biases, residual sums, and a norm whose gain is a sum.
func TestAskedForWhatThereIs(t *testing.T) {
	for name, c := range map[string]struct {
		build func(s graph.Scope, product graph.Tensor) graph.Tensor
		want  map[string]int
	}{
		"biases": {func(s graph.Scope, y graph.Tensor) graph.Tensor {
			y = s.Apply("add one", kernels.AddBias{}, y, s.Param("one", graph.Bias, 4))
			return s.Apply("add two", kernels.AddBias{}, y, s.Param("two", graph.Bias, 4))
		}, map[string]int{"bias": 1}},
		"residuals": {func(s graph.Scope, y graph.Tensor) graph.Tensor {
			return s.Add("two sums", s.Add("one sum", y, s.Param("one", graph.Matrix, 6, 4)), s.Param("two", graph.Matrix, 6, 4))
		}, map[string]int{"residual": 1}},
		"gain": {func(s graph.Scope, y graph.Tensor) graph.Tensor {
			return s.Apply("norm", kernels.RMSNorm{Eps: 1e-5}, y, s.Add("gain", s.Param("one", graph.Gain, 4), s.Param("two", graph.Gain, 4)))
		}, map[string]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			g := graph.New(kernels.F64)
			s := g.Root()
			y := c.build(s, s.Apply("product", kernels.MatMul{}, s.Param("x", graph.Matrix, 6, 6), s.Param("w", graph.Matrix, 6, 4)))
			p, err := exec.NewPlan(asked{ref.New(), t}, specFor(t, g, exec.Named{Name: "y", Node: y}))
			if err != nil {
				t.Fatal(err)
			}
			if got := fusions(p); !maps.Equal(got, c.want) {
				t.Errorf("fused %v, wants %v", got, c.want)
			}
		})
	}
}

// TestTypesBesideNorms holds the types of calls that stand in a norm's place or beside it: a value that only a product reads is bfloat16, what
// they read comes as it is, and a sum that lives on is float32.
func TestTypesBesideNorms(t *testing.T) {
	g := graph.New(kernels.F32)
	s := g.Root()
	w := s.Param("w", graph.Matrix, 8, 8)
	product := func(name string, x graph.Tensor) graph.Tensor { return s.Apply(name, kernels.MatMul{}, x, w) }
	first := product("first", s.Param("x", graph.Matrix, 6, 8))
	gated := s.Apply("gate", kernels.Gate{}, product("before gate", first), s.Param("g", graph.Gain, 8))
	tanh := s.Apply("dyt", kernels.DyT{}, product("before dyt", gated), s.Param("alpha", graph.Gain, 1), s.Param("gain", graph.Gain, 8), s.Param("bias", graph.Bias, 8))
	sum := s.Add("sum", s.Param("stream", graph.Matrix, 6, 8), s.Apply("scaled", kernels.Scale{Factor: 2}, product("after dyt", tanh)))
	y := s.Add("y", sum, product("after norm", s.Apply("norm", kernels.RMSNorm{Eps: 1e-5}, sum, s.Param("n", graph.Gain, 8))))
	p, err := exec.NewPlan(opened(t, kernels.PrecisionBF16), specFor(t, g, exec.Named{Name: "y", Node: y}, exec.Named{Name: "m", Node: s.Apply("moments", kernels.Moments{}, first, gated)}))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Join(typesOf(p), "\n") + "\n"
	for _, want := range []string{"gate: bf16 <- bf16 f32\n", "dyt: bf16 <- bf16 f32 f32 f32\n", "moments: f32 <- bf16 bf16\n", "norm: bf16 f32 <- f32 bf16 f32\n"} {
		if !strings.Contains(lines, want) {
			t.Errorf("no %q in\n%s", want, lines)
		}
	}
}
