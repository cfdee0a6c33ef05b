package model

import (
	"fmt"
	"math"
	"slices"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model/exec"
	"prenorm/model/graph"
)

// variants are small models that together use every option of the configuration, with odd sizes.
func variants() map[string]Config {
	base := Default()
	base.Layers, base.Width, base.Heads, base.KVHeads, base.FFN, base.Context, base.Vocab = 2, 12, 3, 1, 20, 7, 23
	llama := base
	llama.Tied = false

	gpt2 := base
	gpt2.Norm.Kind, gpt2.MLP, gpt2.Position.Kind, gpt2.Bias, gpt2.KVHeads = "layernorm", "gelu_tanh", "learned", "all", 3
	gpt2.Dropout = 0.2

	gemma := base
	gemma.MLP, gemma.Norm.UnitOffset, gemma.EmbedScale, gemma.LogitSoftcap, gemma.Attention.Softcap = "geglu", true, true, 30, 50
	gemma.Attention.Window = []int{3, 0}
	gemma.Position.Theta = []float64{10000, 1e6}

	qwen := base
	qwen.HeadDim, qwen.Attention.QKNorm, qwen.Bias = 6, "head", "qkv"
	full := base
	full.Attention.QKNorm, full.Attention.Scale = "full", 0.3
	full.Position.Scaling = Scaling{Kind: "yarn", Factor: 2, Original: 4, LowFreq: 1, HighFreq: 32}
	batch := base
	batch.Norm.Kind, batch.Attention.QKNorm, batch.Norm.UnitOffset = "batchnorm", "head", true
	return map[string]Config{"base": base, "llama": llama, "gpt2": gpt2, "gemma": gemma, "qwen": qwen, "full": full, "batchnorm": batch}
}

// buffers gives memory to a network's buffers on the reference backend, with values of their own, and adds it to that of parameters.
func buffers(t *testing.T, net *Net, dtype kernels.DType, external map[string]kernels.View) map[string]kernels.View {
	t.Helper()
	slab, err := NewSlab(ref.New(), dtype, net.Buffers())
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range net.Buffers() {
		x := p.Initial(7)
		for k := range x {
			x[k] += 0.1 * float32(k%5)
		}
		set(t, ref.New(), slab.View(i), x)
		external[p.Name] = slab.View(i)
	}
	return external
}

// run holds a network's memory on the reference backend.
type run struct {
	net           *Net
	program       *exec.Program
	params, grads *exec.Slab
}

func newRun(t *testing.T, c Config, o Options, accumulate bool, taps ...string) *run {
	t.Helper()
	return newRunOn(t, ref.New(), nil, c, o, accumulate, taps...)
}

// newRunWithout is newRun without some of the executor's passes.
func newRunWithout(t *testing.T, passes []string, c Config, o Options, accumulate bool, taps ...string) *run {
	t.Helper()
	return newRunOn(t, ref.New(), passes, c, o, accumulate, taps...)
}

// newRunOn is newRunWithout on a backend whose memory is the host's.
func newRunOn(t *testing.T, be kernels.Backend, passes []string, c Config, o Options, accumulate bool, taps ...string) *run {
	t.Helper()
	net, err := Build(c, o)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := net.Spec(accumulate, taps...)
	if err != nil {
		t.Fatal(err)
	}
	spec.Without = passes
	plan, err := exec.NewPlan(be, spec)
	if err != nil {
		t.Fatal(err)
	}
	r := &run{net: net}
	if r.params, err = NewSlab(be, o.DType, net.Table()); err != nil {
		t.Fatal(err)
	}
	if r.grads, err = NewSlab(be, o.DType, net.Table()); err != nil {
		t.Fatal(err)
	}
	external := r.params.Views("")
	for name, v := range r.grads.Views(GradPrefix) {
		external[name] = v
	}
	if r.program, err = plan.Bind(buffers(t, net, o.DType, external)); err != nil {
		t.Fatal(err)
	}
	for i, p := range net.Table() {
		p.Mean, p.Std = p.Mean+0.1, 0.3
		set(t, be, r.params.View(i), p.Initial(7))
	}
	n := o.B * o.T
	tokens, targets, docs := make([]int32, n), make([]int32, n), make([]int32, n)
	for i := range tokens {
		tokens[i], targets[i], docs[i] = int32(i*i*7+3*i)%int32(c.Vocab), int32(i*5+1)%int32(c.Vocab), int32(i%o.T/3)
	}
	counted := n
	if n > 1 {
		targets[1] = -100
		counted--
	}
	inputs := map[string]any{InTokens: tokens, InTargets: targets, InDocuments: docs, InCounter: []int32{1, 2, 3, 4}}
	if o.DType == kernels.F32 {
		inputs[InNormaliser] = []float32{float32(counted)}
	} else {
		inputs[InNormaliser] = []float64{float64(counted)}
	}
	for _, in := range net.Graph.Inputs() {
		if data, ok := inputs[in.Name]; ok {
			if err := r.program.Set(in.Name, data); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r
}

func set(t *testing.T, be kernels.Backend, v kernels.View, x []float32) {
	t.Helper()
	var err error
	if v.DType == kernels.F64 {
		wide := make([]float64, len(x))
		for i := range x {
			wide[i] = float64(x[i])
		}
		err = be.Upload(v, wide)
	} else {
		err = be.Upload(v, x)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (r *run) step(t *testing.T) float64 {
	t.Helper()
	if err := r.program.Run(); err != nil {
		t.Fatal(err)
	}
	v, err := r.program.View(OutLoss)
	if err != nil {
		t.Fatal(err)
	}
	return floats(v)[0]
}

func floats(v kernels.View) []float64 {
	if v.DType == kernels.F64 {
		return v.F64()
	}
	out := make([]float64, v.Len())
	for i, x := range v.F32() {
		out[i] = float64(x)
	}
	return out
}

// tape runs the same graph on Gorgonia's tape machine and returns the loss and the gradients in the order of the graph's parameters.
func (r *run) tape(t *testing.T) (float64, [][]float64) {
	t.Helper()
	let := func(name string, n graph.Tensor, view func(string) (kernels.View, error)) {
		v, err := view(name)
		if err != nil {
			t.Fatal(err)
		}
		var backing any
		switch v.DType {
		case kernels.I32:
			backing = append([]int32{}, v.I32()...)
		case kernels.F64:
			backing = append([]float64{}, v.F64()...)
		default:
			backing = append([]float32{}, v.F32()...)
		}
		if err := G.Let(n, tensor.New(tensor.WithShape(n.Shape()...), tensor.WithBacking(backing))); err != nil {
			t.Fatal(err)
		}
	}
	for _, in := range r.net.Graph.Inputs() {
		let(in.Name, in.Node, r.program.View)
	}
	for _, p := range slices.Concat(r.net.Graph.Params(), r.net.Graph.Buffers()) {
		let(p.Name, p.Node, r.program.View)
	}
	vm := G.NewTapeMachine(r.net.Graph.Expr())
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		t.Fatal(err)
	}
	grads := make([][]float64, len(r.net.Grads))
	for i, g := range r.net.Grads {
		switch d := g.Value().Data().(type) {
		case []float64:
			grads[i] = d
		case []float32:
			for _, x := range d {
				grads[i] = append(grads[i], float64(x))
			}
		}
	}
	switch l := r.net.Loss.Value().Data().(type) {
	case float64:
		return l, grads
	case float32:
		return float64(l), grads
	}
	t.Fatal("loss has no value")
	return 0, nil
}

// TestExecutorEqualsTapeMachine holds the executor against Gorgonia's tape machine, bit for bit: in float64 with all passes, in float32 with
// none, because a fused call does not round to float32 what lay between its parts.
func TestExecutorEqualsTapeMachine(t *testing.T) {
	for name, c := range variants() {
		for _, o := range []Options{{B: 2, T: 7}, {B: 3, T: 5, Documents: true}, {B: 2, T: 6, DType: kernels.F64}, {B: 1, T: 1}} {
			t.Run(fmt.Sprintf("%s/B%dT%d%v", name, o.B, o.T, o.DType), func(t *testing.T) {
				var without []string
				if o.DType == kernels.F32 {
					without = exec.Passes()
				}
				r := newRunWithout(t, without, c, o, false)
				for range 2 {
					r.step(t)
				}
				loss := r.step(t)
				wantLoss, want := r.tape(t)
				if math.Float64bits(loss) != math.Float64bits(wantLoss) || !(loss > 0) {
					t.Errorf("loss %v, tape machine %v", loss, wantLoss)
				}
				for i, p := range r.net.Graph.Params() {
					v, err := r.program.View(GradPrefix + p.Name)
					if err != nil {
						t.Fatal(err)
					}
					for k, g := range floats(v) {
						if g != want[i][k] {
							t.Fatalf("gradient of %s[%d]: %v, tape machine %v", p.Name, k, g, want[i][k])
						}
					}
				}
			})
		}
	}
}
