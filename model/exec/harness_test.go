package exec_test

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model"
	"prenorm/model/exec"
	"prenorm/model/graph"
)

// opened is the reference backend in a precision.
func opened(t *testing.T, p kernels.Precision) kernels.Backend {
	t.Helper()
	be, err := ref.Open(kernels.Options{Precision: p})
	if err != nil {
		t.Fatal(err)
	}
	return be
}

// memoryFor makes memory for what a program wants from its caller. The numbers in it depend on the names only.
func memoryFor(t *testing.T, spec exec.Spec, dtype kernels.DType) map[string]kernels.View {
	t.Helper()
	memory := map[string]kernels.View{}
	for _, o := range slices.Concat(spec.External, spec.Into) {
		h := fnv.New64a()
		h.Write([]byte(o.Name))
		random := rand.New(rand.NewPCG(h.Sum64(), 9))
		shape := []int(o.Node.Shape())
		values := make([]float64, kernels.Shaped(dtype, shape...).Len())
		for i := range values {
			values[i] = random.NormFloat64()*0.3 + 0.1
		}
		memory[o.Name] = viewOf(dtype, values, shape)
	}
	return memory
}

// viewOf is memory that holds the values.
func viewOf(dtype kernels.DType, values []float64, shape []int) kernels.View {
	if dtype == kernels.F64 {
		return kernels.HostView(values, shape...)
	}
	single := make([]float32, len(values))
	for i, x := range values {
		single[i] = float32(x)
	}
	return kernels.HostView(single, shape...)
}

// numbers are the values of a view or of a graph's node, which float64 holds as they are.
func numbers(data any) []float64 {
	var out []float64
	switch d := data.(type) {
	case kernels.View:
		switch d.DType {
		case kernels.F64:
			return d.F64()
		case kernels.BF16:
			for _, x := range d.BF16() {
				out = append(out, float64(kernels.FromBF16(x)))
			}
			return out
		}
		return numbers(d.F32())
	case []float64:
		return d
	case []float32:
		for _, x := range d {
			out = append(out, float64(x))
		}
	case float32:
		return []float64{float64(d)}
	case float64:
		return []float64{d}
	}
	return out
}

// execute compiles a program, sets its inputs, poisons the rest of its arena, runs it and returns what it put out, by name.
func execute(t *testing.T, be kernels.Backend, spec exec.Spec, dtype kernels.DType, memory map[string]kernels.View) map[string][]float64 {
	t.Helper()
	p, err := exec.NewPlan(be, spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckPlacement(); err != nil {
		t.Fatal(err)
	}
	g, err := p.Bind(memory)
	if err != nil {
		t.Fatal(err)
	}
	g.Poison()
	for _, in := range spec.Inputs {
		if in.Data != nil {
			continue
		}
		ids := make([]int32, in.Node.Shape().TotalSize())
		for i := range ids {
			ids[i] = int32((i*i*3 + i) % 5)
		}
		var data any = ids
		switch {
		case in.Name == model.InNormaliser && dtype == kernels.F64:
			data = []float64{13}
		case in.Name == model.InNormaliser:
			data = []float32{13}
		}
		if err := g.Set(in.Name, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Run(); err != nil {
		t.Fatal(err)
	}
	out := map[string][]float64{}
	for _, o := range slices.Concat(spec.Outputs, spec.Observed, spec.Into) {
		v, err := g.View(o.Name)
		if err != nil {
			t.Fatal(err)
		}
		out[o.Name] = slices.Clone(numbers(v))
	}
	return out
}

// specOf is the program of a model.
func specOf(t *testing.T, c model.Config, o model.Options, accumulate bool, taps ...string) exec.Spec {
	t.Helper()
	net, err := model.Build(c, o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := net.Spec(accumulate, taps...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// specFor is the program of a hand-made graph: the named values are its outputs, the parameters and states lie outside.
func specFor(t *testing.T, g *graph.Graph, outputs ...exec.Named) exec.Spec {
	t.Helper()
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	s := exec.Spec{Name: "test", Outputs: outputs}
	for _, p := range g.Params() {
		s.External = append(s.External, exec.Named{Name: p.Name, Node: p.Node})
	}
	for _, in := range g.States() {
		s.External = append(s.External, exec.Named{Name: in.Name, Node: in.Node})
	}
	for _, in := range g.Inputs() {
		s.Inputs = append(s.Inputs, exec.Named{Name: in.Name, Node: in.Node, Data: in.Data})
	}
	return s
}

// same wants two runs to have put out the same bits under every name that both have.
func same(t *testing.T, what string, got, want map[string][]float64) {
	t.Helper()
	compared := 0
	for name, w := range want {
		g, ok := got[name]
		if !ok {
			continue
		}
		compared += len(w)
		if !slices.Equal(g, w) {
			t.Errorf("%s: %s differs", what, name)
		}
	}
	if compared == 0 {
		t.Errorf("%s: nothing was compared", what)
	}
}
