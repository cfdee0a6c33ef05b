package ref

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
)

// narrow copies a view of float64 to float32.
func narrow(v kernels.View) kernels.View {
	if v.DType != kernels.F64 {
		return v
	}
	w := newView(kernels.F32, v.Shape...)
	for i, x := range v.F64() {
		w.F32()[i] = float32(x)
	}
	return w
}

// TestSavedGivesTheSameBits wants backward calls to give the same bits with saved statistics and without, in both types.
func TestSavedGivesTheSameBits(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	tested := 0
	for _, p := range pairs(r) {
		for _, in := range [][]kernels.View{p.in, mapped(p.in)} {
			f := bind(t, p.forward, nil, in...)
			if len(f.args.Aux) == 0 {
				continue
			}
			tested++
			launch(t, f)
			dy := normal(r, f.args.Out[0].Shape...)
			if f.args.Out[0].DType == kernels.F32 {
				dy = narrow(dy)
			}
			call, back := p.backward(f, dy)
			with, without := bind(t, call, f.args.Aux, back...), bind(t, call, nil, back...)
			launch(t, with)
			launch(t, without)
			for o := range with.args.Out {
				if !bytes.Equal(with.args.Out[o].Host, without.args.Out[o].Host) {
					t.Errorf("%s in %v: output %d differs", p.name, dy.DType, o)
				}
			}
		}
	}
	if tested < 20 {
		t.Errorf("only %d pairs have statistics", tested)
	}
}

func mapped(in []kernels.View) []kernels.View {
	var all []kernels.View
	for _, v := range in {
		all = append(all, narrow(v))
	}
	return all
}

// TestRefusals pins the words of what Bind and Workspace refuse beyond shapes.
func TestRefusals(t *testing.T) {
	f := func(shape ...int) kernels.View { return newView(kernels.F32, shape...) }
	views := func(v ...kernels.View) []kernels.View { return v }
	slab := newView(kernels.F32, 8)
	at := func(from, n int) kernels.View { return kernels.HostView(slab.F32()[from:from+n], n) }
	bf16 := newView(kernels.BF16, 3)
	i8 := newView(kernels.I8, 3)
	attention := kernels.Attention{Heads: 1, KVHeads: 1, HeadDim: 2, T: 2}
	for _, c := range []struct {
		call kernels.Call
		args kernels.Args
		says string
	}{
		{kernels.Softcap{}, kernels.Args{Out: views(bf16), In: views(bf16)}, "must be f32"},
		{kernels.Scale{}, kernels.Args{Out: views(i8), In: views(i8)}, "floating-point"},
		{kernels.Softcap{}, kernels.Args{Out: views(f(3)), In: views(f(3))}, "cap 0 must be above 0"},
		{kernels.Activation{Kind: "relu"}, kernels.Args{Out: views(f(3)), In: views(f(3))}, `unknown activation "relu" (have gelu_tanh, silu)`},
		{kernels.GatedActivationGrad{}, kernels.Args{Out: views(f(3), f(3)), In: views(f(3), f(3), f(3))}, `unknown activation ""`},
		{kernels.Fill{Value: 0.5}, kernels.Args{Out: views(i8), In: views(i8)}, "i8 cannot hold 0.5"},
		{kernels.Fill{Value: 128}, kernels.Args{Out: views(i8), In: views(i8)}, "i8 cannot hold 128"},
		{kernels.Scale{}, kernels.Args{Out: views(f(3)), In: views(kernels.Shaped(kernels.F32, 3))}, "0 bytes of host memory, needs 12"},
		{kernels.Scale{}, kernels.Args{Out: views(at(0, 3)), In: views(at(1, 3))}, "shares memory with input 0"},
		{kernels.Activation{Kind: "silu"}, kernels.Args{Out: views(at(0, 3)), In: views(at(0, 3))}, "shares memory with input 0"},
		{kernels.ActivationGrad{Kind: "silu"}, kernels.Args{Out: views(at(0, 3)), In: views(at(0, 3), f(3))}, "shares memory with input 0"},
		{kernels.SGD{}, kernels.Args{Out: views(at(0, 3), at(3, 3)), In: views(at(3, 3), at(0, 3), f(3), f(4))}, "shares memory"},
		{kernels.GatedActivationGrad{Kind: "silu"}, kernels.Args{Out: views(at(0, 3), at(2, 3)), In: views(f(3), f(3), f(3))}, "written views 0"},
		{attention, kernels.Args{Out: views(f(2, 2)), In: views(f(2, 2), f(2, 2), f(2, 2))}, "workspace has 0 bytes, needs 16"},
		{kernels.RMSNormGrad{}, kernels.Args{Out: views(f(2, 3), f(3)), In: views(f(2, 3), f(3), f(2, 3)), Saved: views(f(3))}, "saved statistics are [f32[3]], wants [f32[2]]"},
	} {
		_, err := New().Bind(c.call, c.args)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %+v: error %v, wants %q", c.call.Kernel(), c.call, err, c.says)
		}
	}
}

// TestAllowedSharing wants whole outputs in the memory of the inputs that a call names, and no complaint about views side by side.
func TestAllowedSharing(t *testing.T) {
	slab := newView(kernels.F32, 12)
	at := func(from, n int) kernels.View { return kernels.HostView(slab.F32()[from:from+n], n) }
	for _, c := range []struct {
		call kernels.Call
		args kernels.Args
	}{
		{kernels.Scale{}, kernels.Args{Out: []kernels.View{at(0, 3)}, In: []kernels.View{at(0, 3)}}},
		{kernels.Scale{}, kernels.Args{Out: []kernels.View{at(0, 3)}, In: []kernels.View{at(3, 3)}}},
		{kernels.Add{}, kernels.Args{Out: []kernels.View{at(0, 3)}, In: []kernels.View{at(3, 3), at(0, 3)}}},
		{kernels.ActivationGrad{Kind: "silu"}, kernels.Args{Out: []kernels.View{at(0, 3)}, In: []kernels.View{at(3, 3), at(0, 3)}}},
		{kernels.SGD{}, kernels.Args{Out: []kernels.View{at(0, 2), at(2, 2)}, In: []kernels.View{at(0, 2), at(2, 2), at(4, 2), at(6, 4)}}},
	} {
		if _, err := New().Bind(c.call, c.args); err != nil {
			t.Errorf("%s: %v", c.call.Kernel(), err)
		}
	}
}

// TestFailedLaunchChangesNothing wants a bad index to be found before anything is written.
func TestFailedLaunchChangesNothing(t *testing.T) {
	in := []kernels.View{matrix(2, 1, 2, 3, 4), ids(0, 5), matrix(2, 0, 1)}
	b := bind(t, kernels.Rope{}, nil, in...)
	b.args.Out[0] = in[0]
	run, err := New().Bind(b.call, b.args)
	if err != nil {
		t.Fatal(err)
	}
	err = run()
	if err == nil || err.Error() != "rope: position 5 at index 1 is outside [0, 1)" {
		t.Errorf("error %v", err)
	}
	if !slices.Equal(in[0].F64(), []float64{1, 2, 3, 4}) {
		t.Errorf("the failed launch left %v", in[0].F64())
	}
}
