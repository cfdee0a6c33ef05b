package exec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model/exec"
	"prenorm/model/graph"
)

// Sizes of random graphs: every value is [sequences*T, heads*dim].
const (
	sequences, rows, heads, dim = 2, 3, 3, 4
	width                       = heads * dim
)

// random is a graph of random ops over one pool of values, any of which may be read many times.
type random struct {
	graph.Scope
	*rand.Rand
	dtype  kernels.DType
	pool   []graph.Tensor
	unread map[graph.Tensor]bool
	loss   graph.Tensor
	grads  []graph.Tensor
	count  int
}

// moves are the ops that a random graph is made of, each from values of the pool to a value of the same shape.
var moves = []func(r *random, name string) graph.Tensor{
	func(r *random, name string) graph.Tensor { return r.Add(name, r.any(), r.any()) },
	func(r *random, name string) graph.Tensor { return r.Add(name, r.any(), r.any()) },
	func(r *random, name string) graph.Tensor { return r.Scale(name, r.any(), 0.7) },
	func(r *random, name string) graph.Tensor {
		return r.Apply(name, kernels.Activation{Kind: "silu"}, r.any())
	},
	func(r *random, name string) graph.Tensor {
		return r.Apply(name, kernels.GatedActivation{Kind: "gelu_tanh"}, r.any(), r.any())
	},
	func(r *random, name string) graph.Tensor { return r.RMSNorm(name, r.any(), dim, 1e-3, true) },
	func(r *random, name string) graph.Tensor { return r.LayerNorm(name, r.any(), width, 1e-3, false) },
	func(r *random, name string) graph.Tensor {
		return r.Linear([]string{name, "shared"}[r.IntN(2)], graph.Matrix, r.any(), width, r.IntN(2) == 0)
	},
	func(r *random, name string) graph.Tensor {
		table := make([]float64, 2*rows*dim)
		for i := range table {
			table[i] = float64(i%5) / 4
		}
		return r.Apply(name, kernels.Rope{}, r.any(), r.ids("positions", func(i int) int32 { return int32(i % rows * 2) }), r.Constant("rope", table, 2*rows, dim))
	},
	func(r *random, name string) graph.Tensor {
		r.count++
		return r.Apply(name, kernels.Dropout{Rate: 0.3, Site: uint32(r.count)}, r.any(), r.IntConstant("counter", []int32{1, 2, 3, 4}, 4))
	},
	func(r *random, name string) graph.Tensor {
		return r.Apply(name, kernels.Attention{Heads: heads, KVHeads: heads, HeadDim: dim, T: rows, Scale: 0.4}, r.any(), r.any(), r.any())
	},
}

// any takes a value of the pool, a late one more often than an early one.
func (r *random) any() graph.Tensor {
	n := r.pool[max(r.IntN(len(r.pool)), r.IntN(len(r.pool)))]
	delete(r.unread, n)
	return n
}

func (r *random) ids(name string, at func(i int) int32) graph.Tensor {
	values := make([]int32, sequences*rows)
	for i := range values {
		values[i] = at(i)
	}
	return r.IntConstant(name, values, len(values))
}

func newRandom(t *testing.T, dtype kernels.DType, seed uint64, nodes int) *random {
	t.Helper()
	r := &random{Scope: graph.New(dtype).Root(), dtype: dtype, Rand: rand.New(rand.NewPCG(seed, 3)), unread: map[graph.Tensor]bool{}}
	table := r.Param("embedding", graph.Embedding, 7, width)
	r.pool = append(r.pool, r.Embed("embed", r.ids("tokens", func(i int) int32 { return int32(i * i % 7) }), table))
	for i := range nodes {
		n := moves[r.IntN(len(moves))](r, fmt.Sprintf("n%d", i))
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
		r.pool = append(r.pool, n)
		r.unread[n] = true
	}
	y := r.pool[0]
	for i, n := range r.pool {
		if r.unread[n] {
			y = r.Add(fmt.Sprintf("leaf%d", i), y, n)
		}
	}
	r.loss = r.LinearCrossEntropy(y, table, r.ids("targets", func(i int) int32 { return int32(i%8 - 1) }), r.Constant("normaliser", []float64{5}, 1), 3)
	r.grads = r.Backward(r.loss)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

// spec asks for the loss, every gradient and some of the values in between.
func (r *random) spec(accumulate bool) exec.Spec {
	s := exec.Spec{Name: "random", Accumulate: accumulate, Outputs: []exec.Named{{Name: "loss", Node: r.loss}}}
	for i, p := range r.Params() {
		s.External = append(s.External, exec.Named{Name: p.Name, Node: p.Node})
		s.Into = append(s.Into, exec.Named{Name: "grad." + p.Name, Node: r.grads[i]})
	}
	for _, in := range r.Inputs() {
		s.Inputs = append(s.Inputs, exec.Named{Name: in.Name, Node: in.Node, Data: in.Data})
	}
	for i, n := range r.pool {
		if r.IntN(6) == 0 {
			s.Outputs = append(s.Outputs, exec.Named{Name: fmt.Sprintf("tap %d", i), Node: n})
		}
	}
	return s
}

// before is what the memory of gradients holds before the first run.
const before = 0.75

// external makes memory for the parameters, with values, and for their gradients.
func (r *random) external() map[string]kernels.View {
	memory := map[string]kernels.View{}
	for _, p := range r.Params() {
		n := kernels.Shaped(r.dtype, p.Shape...).Len()
		values := make([]float64, n)
		for i := range values {
			values[i] = r.NormFloat64()*0.4 + 0.1
		}
		memory[p.Name], memory["grad."+p.Name] = viewOf(r.dtype, values, p.Shape), viewOf(r.dtype, slices.Repeat([]float64{before}, n), p.Shape)
	}
	return memory
}

// tape runs the graph on Gorgonia's machine.
func (r *random) tape(t *testing.T, memory map[string]kernels.View) {
	t.Helper()
	let := func(n graph.Tensor, backing any) {
		if err := G.Let(n, tensor.New(tensor.WithShape(n.Shape()...), tensor.WithBacking(backing))); err != nil {
			t.Fatal(err)
		}
	}
	for _, in := range r.Inputs() {
		switch d := in.Data.(type) {
		case []int32:
			let(in.Node, slices.Clone(d))
		case []float32:
			let(in.Node, slices.Clone(d))
		case []float64:
			let(in.Node, slices.Clone(d))
		}
	}
	for _, p := range r.Params() {
		if r.dtype == kernels.F64 {
			let(p.Node, slices.Clone(memory[p.Name].F64()))
		} else {
			let(p.Node, slices.Clone(memory[p.Name].F32()))
		}
	}
	vm := G.NewTapeMachine(r.Expr())
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		t.Fatal(err)
	}
}

// graphs is the number of random graphs of a test.
func graphs() int {
	if os.Getenv("PRENORM_SLOW") != "" {
		return 1000
	}
	return 60
}

// TestRandomGraphs holds the executor against Gorgonia's tape machine, bit for bit, on graphs with much fan-out, shared parameters, values
// that are watched and, in every other one, gradients that are added up. Before each run whatever is not an input is made NaN.
//
// In float32 nothing may be fused, because a fused call does not round what lay between. The reference computes in float64, so in float64
// there is nothing to be rounded and fusion changes no bit either: all passes run there, and in every other graph all but one.
func TestRandomGraphs(t *testing.T) {
	ran, inPlace, sums, fused := 0, 0, 0, 0
	for seed := range graphs() {
		for _, dtype := range []kernels.DType{kernels.F32, kernels.F64} {
			t.Run(fmt.Sprintf("%d/%v", seed, dtype), func(t *testing.T) {
				ran++
				r := newRandom(t, dtype, uint64(seed), 3+seed%30)
				spec, memory := r.spec(seed%2 == 0), r.external()
				if dtype == kernels.F32 {
					spec.Without = exec.Passes()
				} else if seed%4 > 1 {
					spec.Without = exec.Passes()[seed%len(exec.Passes()):][:1]
				}
				plan := r.hold(t, spec, memory)
				inPlace += plan.InPlace()
				for _, s := range plan.Steps() {
					fused += len(s.Fused)
					if strings.HasPrefix(s.Path, "gradient sum") {
						sums++
					}
				}
			})
		}
	}
	if count := graphs(); ran == 2*count && (inPlace < count || sums < count || fused < count) {
		t.Errorf("%d steps in place, %d sums of gradients and %d steps fused away in %d graphs: they test too little", inPlace, sums, fused, count)
	}
}

// hold runs a program twice and compares it with the tape machine.
func (r *random) hold(t *testing.T, spec exec.Spec, memory map[string]kernels.View) *exec.Plan {
	t.Helper()
	program := r.run(t, ref.New(), spec, memory)
	if err := program.Plan().CheckPlacement(); err != nil {
		t.Fatal(err)
	}
	r.tape(t, memory)
	r.compare(t, spec, program)
	return program.Plan()
}

// run compiles and runs a program twice.
func (r *random) run(t *testing.T, be kernels.Backend, spec exec.Spec, memory map[string]kernels.View) *exec.Program {
	t.Helper()
	plan, err := exec.NewPlan(be, spec)
	if err != nil {
		t.Fatal(err)
	}
	program, err := plan.Bind(memory)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		program.Poison()
		if err := program.Run(); err != nil {
			t.Fatal(err)
		}
	}
	return program
}

// compare wants the values that the tape machine left in the graph; gradients that are added up were so in two runs.
func (r *random) compare(t *testing.T, spec exec.Spec, program *exec.Program) {
	t.Helper()
	round := func(x float64) float64 {
		if r.dtype == kernels.F32 {
			return float64(float32(x))
		}
		return x
	}
	for _, list := range [][]exec.Named{spec.Outputs, spec.Into} {
		for _, o := range list {
			view, err := program.View(o.Name)
			if err != nil {
				t.Fatal(err)
			}
			want := numbers(o.Node.Value().Data())
			for i, got := range numbers(view) {
				w := want[i]
				if spec.Accumulate && strings.HasPrefix(o.Name, "grad.") {
					w = round(round(before+w) + w)
				}
				if math.Float64bits(got) != math.Float64bits(w) {
					t.Fatalf("%s[%d] is %v, by the tape machine %v", o.Name, i, got, w)
				}
			}
		}
	}
}
