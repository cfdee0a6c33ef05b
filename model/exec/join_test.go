package exec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/cpu"
	"prenorm/kernels/ref"
	"prenorm/model"
	"prenorm/model/exec"
	"prenorm/model/graph"
)

// backwards is a backend that joins all calls and runs those of a joint launch from the last to the first: what depends on another comes out wrong.
type backwards struct {
	kernels.Backend
	*tally
}

// tally counts joint launches and the calls of the largest.
type tally struct{ launches, most int }

func (b backwards) Precision() kernels.Precision { return kernels.PrecisionOf(b.Backend) }

func (b backwards) Joins(kernels.Call, kernels.Args) bool { return true }

func (b backwards) BindJoint(calls []kernels.BoundCall) (kernels.Launch, error) {
	b.launches, b.most = b.launches+1, max(b.most, len(calls))
	var all []kernels.Launch
	for _, c := range slices.Backward(calls) {
		l, err := b.Bind(c.Call, c.Args)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return func() error {
		for _, l := range all {
			if err := l(); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// keepsOrder runs a program with every group of steps from its last to its first, and then step by step. All groups that were planned must be bound as
// such: their values lie apart.
func keepsOrder(t *testing.T, be kernels.Backend, spec exec.Spec) (most int) {
	t.Helper()
	b := backwards{be, &tally{}}
	p, err := exec.NewPlan(b, spec)
	if err != nil {
		t.Fatal(err)
	}
	got := execute(t, b, spec, kernels.F32, memoryFor(t, spec, kernels.F32))
	if n := len(p.Joined()); b.launches != n {
		t.Errorf("%d joint launches of %d", b.launches, n)
	}
	before := b.launches
	spec.Without = []string{"join"}
	same(t, "side by side", got, execute(t, b, spec, kernels.F32, memoryFor(t, spec, kernels.F32)))
	if b.launches != before {
		t.Error("launches are joint without the pass")
	}
	return b.most
}

// TestJoinedStepsAreIndependent has whole models of all kinds keep their order.
func TestJoinedStepsAreIndependent(t *testing.T) {
	for name, c := range configs() {
		for _, mode := range []model.Mode{model.Train, model.Eval, model.Cached} {
			for _, precision := range []kernels.Precision{kernels.PrecisionFP32, kernels.PrecisionBF16} {
				t.Run(fmt.Sprintf("%s/%v/%s", name, mode, precision), func(t *testing.T) {
					spec := specOf(t, c, model.Options{Mode: mode, B: 2, T: 3}, mode == model.Train && c.Tied)
					if most := keepsOrder(t, opened(t, precision), spec); most < 2 { // conversions to bfloat16 may stand between q and k
						t.Error("no launch has several calls")
					}
				})
			}
		}
	}
}

// TestJoinedRandomGraphs has random graphs keep theirs.
func TestJoinedRandomGraphs(t *testing.T) {
	most := 0
	for seed := range graphs() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			spec := newRandom(t, kernels.F32, uint64(seed), 3+seed%30).spec(seed%2 == 0)
			most = max(most, keepsOrder(t, ref.New(), spec))
		})
	}
	if most < 3 {
		t.Errorf("at most %d calls in a launch: that tests too little", most)
	}
}

// TestJoinedDecoding wants the programs of decoding and of reading a prompt to have the bits on the CPU that they have step by step, for any number of
// workers, at sizes that are worth helpers.
func TestJoinedDecoding(t *testing.T) {
	c := configs()["llama"]
	c.Layers, c.Width, c.Heads, c.KVHeads, c.FFN = 2, 192, 6, 2, 320
	for _, rows := range []int{1, 9} {
		spec := specOf(t, c, model.Options{Mode: model.Cached, B: 1, T: rows}, false)
		var want map[string][]float64
		for _, workers := range []int{1, 2, 5} {
			be := cpu.New(workers)
			defer be.Close()
			spec.Without = []string{"join"}
			plain := execute(t, be, spec, kernels.F32, memoryFor(t, spec, kernels.F32))
			if want == nil {
				want = plain
			}
			same(t, fmt.Sprintf("%d rows, %d workers", rows, workers), plain, want)
			spec.Without = nil
			same(t, fmt.Sprintf("%d rows, %d workers, side by side", rows, workers), execute(t, be, spec, kernels.F32, memoryFor(t, spec, kernels.F32)), want)
		}
	}
}

// TestWhatJoins names the groups of a decoding program: q, k and v, and gate and up. In a training program of many rows there are none.
func TestWhatJoins(t *testing.T) {
	be := cpu.New(2)
	defer be.Close()
	c := configs()["llama"]
	c.Layers = 1
	p, err := exec.NewPlan(be, specOf(t, c, model.Options{Mode: model.Cached, B: 1, T: 1}, false))
	if err != nil {
		t.Fatal(err)
	}
	const attention, mlp = "layers.0.self_attn.", "layers.0.mlp."
	want := []string{attention + "q_proj.matmul, " + attention + "k_proj.matmul, " + attention + "v_proj.matmul", mlp + "gate_proj.matmul, " + mlp + "up_proj.matmul"}
	if got := p.Joined(); !slices.Equal(got, want) {
		t.Errorf("side by side: %q, want %q", got, want)
	}
	spec := specOf(t, c, model.Options{Mode: model.Cached, B: 1, T: 1}, false)
	spec.Without = []string{"join"}
	if p, err = exec.NewPlan(be, spec); err != nil || p.Joined() != nil {
		t.Errorf("without the pass: %q, %v", p.Joined(), err)
	}
	c.Width, c.FFN, c.KVHeads = 96, 96, 6
	if p, err = exec.NewPlan(be, specOf(t, c, model.Options{B: 20, T: 9}, false)); err != nil || p.Joined() != nil {
		t.Errorf("in training: %q, %v", p.Joined(), err)
	}
}

// TestDependentStepsDoNotJoin has products of which one needs the other's result, comes to lie in its memory, or overwrites its operand.
func TestDependentStepsDoNotJoin(t *testing.T) {
	be := cpu.New(2)
	defer be.Close()
	for name, build := range map[string]func(s graph.Scope, x, w graph.Tensor) graph.Tensor{
		"a result": func(s graph.Scope, x, w graph.Tensor) graph.Tensor {
			return s.Apply("two", kernels.MatMul{TransB: true}, s.Apply("one", kernels.MatMul{TransB: true}, x, w), w)
		},
		"a sum in place": func(s graph.Scope, x, w graph.Tensor) graph.Tensor {
			return s.Add("sum", s.Apply("one", kernels.MatMul{}, x, w), s.Apply("two", kernels.MatMul{TransB: true}, x, w))
		},
	} {
		g := graph.New(kernels.F32)
		s := g.Root()
		y := build(s, s.Param("x", graph.Matrix, 6, 6), s.Param("w", graph.Matrix, 6, 6))
		p, err := exec.NewPlan(be, specFor(t, g, exec.Named{Name: "y", Node: y}))
		if err != nil {
			t.Fatal(err)
		}
		if p.Launches() != 2 || p.Joined() != nil {
			t.Errorf("%s: %d launches, side by side: %q", name, p.Launches(), p.Joined())
		}
	}
}

// TestOneMemoryForTwoNames gives two results the same memory: the steps that make them keep their order.
func TestOneMemoryForTwoNames(t *testing.T) {
	g := graph.New(kernels.F32)
	s := g.Root()
	x := s.Param("x", graph.Matrix, 6, 6)
	one, two := s.Apply("one", kernels.MatMul{}, x, x), s.Apply("two", kernels.MatMul{TransB: true}, x, x)
	spec := specFor(t, g)
	spec.Into = []exec.Named{{Name: "one", Node: one}, {Name: "two", Node: two}}
	be := backwards{ref.New(), &tally{}}
	memory := memoryFor(t, spec, kernels.F32)
	want := execute(t, be, spec, kernels.F32, memory)
	if be.most != 2 {
		t.Fatalf("launches of at most %d calls, want 2", be.most)
	}
	memory["one"] = memory["two"]
	got := execute(t, be, spec, kernels.F32, memory)
	if !slices.Equal(got["two"], want["two"]) {
		t.Error("the later result is not there")
	}
}

// TestJoinedErrors wants the error of a joint launch to name its steps.
func TestJoinedErrors(t *testing.T) {
	g := graph.New(kernels.F32)
	s := g.Root()
	ids := s.IntConstant("ids", []int32{7}, 1)
	one, two := s.Apply("one", kernels.Embed{}, ids, s.Param("v", graph.Matrix, 5, 6)), s.Apply("two", kernels.Embed{}, ids, s.Param("w", graph.Matrix, 5, 6))
	spec := specFor(t, g, exec.Named{Name: "one", Node: one}, exec.Named{Name: "two", Node: two})
	p, err := exec.NewPlan(backwards{ref.New(), &tally{}}, spec)
	if err != nil {
		t.Fatal(err)
	}
	program, err := p.Bind(memoryFor(t, spec, kernels.F32))
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Run(); err == nil || !strings.Contains(err.Error(), "one, two: ") {
		t.Errorf("error %v", err)
	}
}
