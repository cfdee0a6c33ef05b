package ref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"prenorm/kernels"
)

// bound is a call with its views in memory, all of them float64 or int32.
type bound struct {
	call kernels.Call
	args kernels.Args
	run  kernels.Launch
}

// bind allocates the outputs, statistics and workspace of a call and binds it.
func bind(t *testing.T, c kernels.Call, saved []kernels.View, in ...kernels.View) *bound {
	t.Helper()
	out, aux, err := c.Infer(in)
	if err != nil {
		t.Fatal(err)
	}
	b := &bound{call: c, args: kernels.Args{In: in, Saved: saved}}
	for _, v := range out {
		b.args.Out = append(b.args.Out, newView(v.DType, v.Shape...))
	}
	for _, v := range aux {
		b.args.Aux = append(b.args.Aux, newView(v.DType, v.Shape...))
	}
	n, err := New().Workspace(c, b.args)
	if err != nil {
		t.Fatal(err)
	}
	b.args.Work = newView(kernels.I8, n)
	if b.run, err = New().Bind(c, b.args); err != nil {
		t.Fatal(err)
	}
	return b
}

// newView allocates a view.
func newView(d kernels.DType, shape ...int) kernels.View {
	v := kernels.Shaped(d, shape...)
	arena, err := kernels.NewHostArena(v.Bytes())
	if err != nil {
		panic(err)
	}
	return arena.View(0, d, shape...)
}

func launch(t *testing.T, b *bound) {
	t.Helper()
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
}

func normal(r *rand.Rand, shape ...int) kernels.View {
	v := newView(kernels.F64, shape...)
	for i := range v.F64() {
		v.F64()[i] = r.NormFloat64()
	}
	return v
}

func ids(values ...int32) kernels.View { return kernels.HostView(values, len(values)) }

// pair is a forward call, the backward call that claims its gradients, and how the two fit.
type pair struct {
	name    string
	forward kernels.Call
	in      []kernels.View
	// backward returns the call and its inputs for the gradient dy of output 0; forward has run.
	backward func(f *bound, dy kernels.View) (kernels.Call, []kernels.View)
	wrt      []int // wrt[o] is the forward's input whose gradient is output o of the backward call; -1 = none
}

// TestGradients holds every backward call against fourth-order central differences of sum(dy · y), with fixed random dy.
func TestGradients(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, p := range pairs(r) {
		t.Run(p.name, func(t *testing.T) {
			f := bind(t, p.forward, nil, p.in...)
			launch(t, f)
			dy := normal(r, f.args.Out[0].Shape...)
			call, in := p.backward(f, dy)
			var saved []kernels.View
			if len(f.args.Aux) > 0 {
				saved = f.args.Aux
			}
			g := bind(t, call, saved, in...)
			launch(t, g)
			for o, i := range p.wrt {
				if i >= 0 {
					differences(t, f, dy, i, g.args.Out[o].F64())
				}
			}
		})
	}
}

// differences compares got with the derivative of sum(dy · y) by each element of input i of a forward call.
func differences(t *testing.T, f *bound, dy kernels.View, i int, got []float64) {
	t.Helper()
	x, largest := f.args.In[i].F64(), 0.0
	want := make([]float64, len(x))
	for k := range x {
		want[k] = derivative(t, f, dy, &x[k])
		largest = max(largest, math.Abs(want[k]))
	}
	if largest == 0 {
		t.Fatalf("the gradient by input %d is zero: the case tests nothing", i)
	}
	for k := range x {
		if e := math.Abs(got[k]-want[k]) / max(math.Abs(want[k]), 1e-3*largest); !(e < 1e-7) {
			t.Errorf("input %d element %d: gradient %.12g, differences %.12g (relative error %.2g)", i, k, got[k], want[k], e)
		}
	}
}

// derivative is the fourth-order central difference of sum(dy · y) by *x.
func derivative(t *testing.T, f *bound, dy kernels.View, x *float64) float64 {
	t.Helper()
	at, h := *x, 1e-3*max(1, math.Abs(*x))
	value := func(shift float64) float64 {
		*x = at + shift
		launch(t, f)
		return dot(f.args.Out[0].F64(), dy.F64())
	}
	d := (8*(value(h)-value(-h)) - (value(2*h) - value(-2*h))) / (12 * h)
	*x = at
	return d
}

// pairs are all forward calls that have a gradient, on odd shapes.
func pairs(r *rand.Rand) []pair {
	all := append(linearPairs(r), normPairs(r)...)
	all = append(all, attentionPairs(r)...)
	return append(append(all, elementwisePairs(r)...), headPairs(r)...)
}

func linearPairs(r *rand.Rand) []pair {
	table := newView(kernels.F64, 5, 6)
	for i := range table.F64() {
		p, j := i/6, i%3
		angle := float64(p) * math.Pow(0.3, float64(j))
		table.F64()[i] = math.Cos(angle)
		if i%6 >= 3 {
			table.F64()[i] = math.Sin(angle)
		}
	}
	positions := ids(4, 0, 2)
	tokens := ids(3, 0, 3, 6, 3)
	x, w := normal(r, 3, 5), normal(r, 7, 5)
	var all []pair
	// y = x Wᵀ: dx = dy W, dW = dyᵀ x.
	all = append(all, pair{"linear dx", kernels.MatMul{TransB: true}, []kernels.View{x, w}, func(_ *bound, dy kernels.View) (kernels.Call, []kernels.View) {
		return kernels.MatMul{}, []kernels.View{dy, w}
	}, []int{0}})
	all = append(all, pair{"linear dW", kernels.MatMul{TransB: true}, []kernels.View{x, w}, func(_ *bound, dy kernels.View) (kernels.Call, []kernels.View) {
		return kernels.MatMul{TransA: true}, []kernels.View{dy, x}
	}, []int{1}})
	all = append(all, pair{"add bias", kernels.AddBias{}, []kernels.View{x, normal(r, 5)}, func(_ *bound, dy kernels.View) (kernels.Call, []kernels.View) {
		return kernels.SumRows{}, []kernels.View{dy}
	}, []int{1}})
	all = append(all, pair{"rope", kernels.Rope{}, []kernels.View{normal(r, 3, 12), positions, table}, func(_ *bound, dy kernels.View) (kernels.Call, []kernels.View) {
		return kernels.Rope{Inverse: true}, []kernels.View{dy, positions, table}
	}, []int{0}})
	return append(all, pair{"embed", kernels.Embed{}, []kernels.View{tokens, normal(r, 7, 3)}, func(_ *bound, dy kernels.View) (kernels.Call, []kernels.View) {
		return kernels.EmbedGrad{Vocab: 7}, []kernels.View{tokens, dy}
	}, []int{1}})
}

func normPairs(r *rand.Rand) []pair {
	var all []pair
	for _, unit := range []bool{false, true} {
		for _, d := range []int{7, 1, 3} {
			width := 7
			if d == 3 {
				width = 9 // three heads a row
			}
			name := fmt.Sprintf(" d=%d unit=%v", d, unit)
			x, gain, bias := normal(r, 3, width), normal(r, d), normal(r, d)
			all = append(all, pair{"rmsnorm" + name, kernels.RMSNorm{Eps: 1e-2, UnitOffset: unit}, []kernels.View{x, gain}, func(f *bound, dy kernels.View) (kernels.Call, []kernels.View) {
				return kernels.RMSNormGrad{Eps: 1e-2, UnitOffset: unit}, append(f.args.In[:2:2], dy)
			}, []int{0, 1}})
			if d == 1 {
				continue // x - mean is 0, so are the gradients by x and gain
			}
			all = append(all, pair{"layernorm" + name, kernels.LayerNorm{Eps: 1e-2, UnitOffset: unit}, []kernels.View{x, gain, bias}, func(f *bound, dy kernels.View) (kernels.Call, []kernels.View) {
				return kernels.LayerNormGrad{Eps: 1e-2, UnitOffset: unit}, append(f.args.In[:3:3], dy)
			}, []int{0, 1, 2}})
			all = append(all, pair{"batchnorm" + name, kernels.BatchNorm{Eps: 1e-2, UnitOffset: unit}, []kernels.View{x, gain, bias}, func(f *bound, dy kernels.View) (kernels.Call, []kernels.View) {
				return kernels.BatchNormGrad{Eps: 1e-2, UnitOffset: unit}, append(f.args.In[:3:3], dy)
			}, []int{0, 1, 2}})
		}
	}
	return all
}

func attentionPairs(r *rand.Rand) []pair {
	base := kernels.Attention{Heads: 2, KVHeads: 2, HeadDim: 3, T: 5, Scale: 0.7}
	cases := map[string]func(*kernels.Attention){
		"plain":   func(*kernels.Attention) {},
		"grouped": func(c *kernels.Attention) { c.Heads, c.KVHeads = 6, 2 },
		"window":  func(c *kernels.Attention) { c.Window = 2 },
		"softcap": func(c *kernels.Attention) { c.Softcap = 1.5 },
		"all":     func(c *kernels.Attention) { c.Heads, c.Window, c.Softcap = 4, 3, 2 },
	}
	var all []pair
	for _, name := range []string{"plain", "grouped", "window", "softcap", "all"} {
		for _, documents := range []bool{false, true} {
			c := base
			cases[name](&c)
			in := []kernels.View{normal(r, 10, c.Heads*3), normal(r, 10, c.KVHeads*3), normal(r, 10, c.KVHeads*3)}
			if documents {
				in = append(in, ids(0, 0, 1, 1, 1, 2, 3, 3, 3, 3))
			}
			all = append(all, pair{fmt.Sprintf("attention %s documents=%v", name, documents), c, in, func(f *bound, dy kernels.View) (kernels.Call, []kernels.View) {
				back := append(f.args.In[:3:3], f.args.Out[0], dy)
				return kernels.AttentionGrad(c), append(back, f.args.In[3:]...)
			}, []int{0, 1, 2}})
		}
	}
	return all
}

func elementwisePairs(r *rand.Rand) []pair {
	var all []pair
	for kind := range curves {
		x, up := normal(r, 3, 5), normal(r, 3, 5)
		all = append(all, pair{"activation " + kind, kernels.Activation{Kind: kind}, []kernels.View{x}, func(f *bound, dy kernels.View) (kernels.Call, []kernels.View) {
			return kernels.ActivationGrad{Kind: kind}, []kernels.View{f.args.In[0], dy}
		}, []int{0}})
		all = append(all, pair{"gated " + kind, kernels.GatedActivation{Kind: kind}, []kernels.View{x, up}, func(f *bound, dy kernels.View) (kernels.Call, []kernels.View) {
			return kernels.GatedActivationGrad{Kind: kind}, []kernels.View{x, up, dy}
		}, []int{0, 1}})
	}
	counter := ids(1, 2, 3, 4)
	return append(all, pair{"dropout", kernels.Dropout{Rate: 0.4, Site: 3}, []kernels.View{normal(r, 3, 7), counter}, func(_ *bound, dy kernels.View) (kernels.Call, []kernels.View) {
		return kernels.Dropout{Rate: 0.4, Site: 3}, []kernels.View{dy, counter}
	}, []int{0}})
}

func headPairs(r *rand.Rand) []pair {
	var all []pair
	for _, softcap := range []float64{0, 2} {
		for name, targets := range map[string]kernels.View{"targets": ids(0, 6, 3), "ignored": ids(5, -100, 5)} {
			in := []kernels.View{normal(r, 3, 5), normal(r, 7, 5), targets, kernels.HostView([]float64{2.5}, 1)}
			all = append(all, pair{fmt.Sprintf("head %s softcap=%g", name, softcap), kernels.LinearCrossEntropy{Softcap: softcap}, in, func(_ *bound, dy kernels.View) (kernels.Call, []kernels.View) {
				return kernels.LinearCrossEntropyGrad{Softcap: softcap}, append(in[:4:4], dy)
			}, []int{0, 1, -1}})
		}
	}
	return all
}
