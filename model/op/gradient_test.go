package op_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model/exec"
	"prenorm/model/graph"
	"prenorm/model/op"
)

// problem is a scalar loss in a graph with the values of its variables.
type problem struct {
	graph.Scope
	random *rand.Rand
	loss   graph.Tensor
	grads  []graph.Tensor
	ints   map[string][]int32
	floats map[string][]float64

	program *exec.Program
}

func newProblem(seed uint64) *problem {
	return &problem{Scope: graph.New(kernels.F64).Root(), random: rand.New(rand.NewPCG(seed, 1)), ints: map[string][]int32{}, floats: map[string][]float64{}}
}

// x declares a parameter of normal numbers, which are differentiated by.
func (p *problem) x(name string, shape ...int) graph.Tensor {
	p.floats[name] = p.normal(kernels.Shaped(kernels.F64, shape...).Len())
	return p.Param(name, graph.Matrix, shape...)
}

func (p *problem) normal(n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = p.random.NormFloat64()
	}
	return values
}

// fixed declares normal numbers that are not differentiated by.
func (p *problem) fixed(name string, shape ...int) graph.Tensor {
	return p.Constant(name, p.normal(kernels.Shaped(kernels.F64, shape...).Len()), shape...)
}

func (p *problem) ids(name string, values ...int32) graph.Tensor {
	return p.IntConstant(name, values, len(values))
}

// head turns y[N,C] into a scalar that depends on each of its elements differently.
func (p *problem) head(y graph.Tensor) graph.Tensor {
	if p.Err() != nil {
		return nil
	}
	n, c := y.Shape()[0], y.Shape()[1]
	targets := make([]int32, n)
	for i := range targets {
		targets[i] = int32(i * 3 % 4)
	}
	return p.LinearCrossEntropy(y, p.fixed("test.head", 4, c), p.ids("test.targets", targets...), p.Constant("test.normaliser", []float64{1.5}, 1), 0)
}

// compile binds the loss and its gradients on the reference backend.
func (p *problem) compile(t *testing.T) {
	t.Helper()
	p.grads = p.Backward(p.loss)
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	spec := exec.Spec{Name: "test", Outputs: []exec.Named{{Name: "loss", Node: p.loss}}}
	for i, v := range p.Params() {
		spec.Inputs = append(spec.Inputs, exec.Named{Name: v.Name, Node: v.Node, Data: p.floats[v.Name]})
		spec.Outputs = append(spec.Outputs, exec.Named{Name: "grad." + v.Name, Node: p.grads[i]})
	}
	for _, v := range p.Inputs() {
		spec.Inputs = append(spec.Inputs, exec.Named{Name: v.Name, Node: v.Node, Data: v.Data})
	}
	plan, err := exec.NewPlan(ref.New(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if p.program, err = plan.Bind(nil); err != nil {
		t.Fatal(err)
	}
}

func (p *problem) view(t *testing.T, name string) []float64 {
	t.Helper()
	v, err := p.program.View(name)
	if err != nil {
		t.Fatal(err)
	}
	return v.F64()
}

func (p *problem) value(t *testing.T) float64 {
	t.Helper()
	if err := p.program.Run(); err != nil {
		t.Fatal(err)
	}
	return p.view(t, "loss")[0]
}

// derivative is the fourth-order central difference of the loss by *x. Its truncation error is of the order h⁴ = 1e-12 and its rounding
// error of 1e-16/h = 1e-13, relative to figures near one.
func (p *problem) derivative(t *testing.T, x *float64) float64 {
	t.Helper()
	at, h := *x, 1e-3*max(1, math.Abs(*x))
	value := func(shift float64) float64 {
		*x = at + shift
		return p.value(t)
	}
	d := (8*(value(h)-value(-h)) - (value(2*h) - value(-2*h))) / (12 * h)
	*x = at
	return d
}

// worst is the largest error of every gradient, relative to max(|entry|, 1e-3 of the tensor's largest).
func (p *problem) worst(t *testing.T) (worst float64, where string) {
	t.Helper()
	for _, v := range p.Params() {
		p.value(t)
		got := slices.Clone(p.view(t, "grad."+v.Name))
		want, largest := make([]float64, len(got)), 0.0
		x := p.view(t, v.Name)
		for i := range x {
			want[i] = p.derivative(t, &x[i])
			largest = max(largest, math.Abs(want[i]))
		}
		if largest == 0 {
			t.Fatalf("the gradient by %s is zero: the case tests nothing", v.Name)
		}
		for i := range got {
			e := math.Abs(got[i]-want[i]) / max(math.Abs(want[i]), 1e-3*largest)
			if !(e <= worst) {
				worst, where = e, v.Name
			}
		}
	}
	return worst, where
}

// covers names the kernels of the graph.
func (p *problem) covers() map[string]bool {
	names := map[string]bool{}
	for _, n := range p.Expr().AllNodes() {
		if o, ok := n.Op().(*op.Op); ok {
			names[o.Call().Kernel()] = true
		}
	}
	return names
}

// TestGradients holds the gradient of every op, through Gorgonia's Grad and the executor, against finite differences.
func TestGradients(t *testing.T) {
	covered := map[string]bool{}
	var errors []float64
	for name, build := range cases() {
		t.Run(name, func(t *testing.T) {
			p := newProblem(7)
			p.loss = build(p)
			p.compile(t)
			for k := range p.covers() {
				covered[k] = true
			}
			worst, where := p.worst(t)
			if !(worst < 1e-7) {
				t.Errorf("gradient by %s: relative error %.3g, allowed 1e-7", where, worst)
			}
			errors = append(errors, worst)
		})
	}
	if len(errors) < len(cases()) {
		return // only some of the cases were asked for
	}
	t.Logf("worst relative error %.2g, mean of the cases' worst %.2g", slices.Max(errors), stat.Mean(errors, nil))
	for _, k := range op.Differentiable() {
		if !covered[k] {
			t.Errorf("%s has a gradient rule and no case here: add one to cases()", k)
		}
	}
}

// TestTapeMachine runs every case on Gorgonia's own machine, which must give the executor's bits.
func TestTapeMachine(t *testing.T) {
	for name, build := range cases() {
		t.Run(name, func(t *testing.T) {
			p := newProblem(7)
			p.loss = build(p)
			p.compile(t)
			loss := p.value(t)
			for _, v := range p.Params() {
				let(t, v.Node, p.floats[v.Name])
			}
			for _, v := range p.Inputs() {
				let(t, v.Node, v.Data)
			}
			vm := G.NewTapeMachine(p.Expr())
			defer vm.Close()
			if err := vm.RunAll(); err != nil {
				t.Fatal(err)
			}
			if got := p.loss.Value().Data().(float64); math.Float64bits(got) != math.Float64bits(loss) {
				t.Errorf("loss %v, tape machine %v", loss, got)
			}
			for i, v := range p.Params() {
				if want := p.grads[i].Value().Data().([]float64); !slices.Equal(p.view(t, "grad."+v.Name), want) {
					t.Errorf("gradient by %s differs from the tape machine's", v.Name)
				}
			}
		})
	}
}

func let(t *testing.T, n graph.Tensor, data any) {
	t.Helper()
	switch d := data.(type) {
	case []float64:
		data = slices.Clone(d)
	case []int32:
		data = slices.Clone(d)
	}
	if err := G.Let(n, tensor.New(tensor.WithShape(n.Shape()...), tensor.WithBacking(data))); err != nil {
		t.Fatal(err)
	}
}
