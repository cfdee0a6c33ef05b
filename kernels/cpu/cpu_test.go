package cpu

import (
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/kerneltest"
)

func TestConformance(t *testing.T) {
	for i, level := range tiers() {
		t.Run(level.name, func(t *testing.T) {
			open := func(n int) (kernels.Backend, error) { return newBackend(n, level), nil }
			o := kerneltest.Options{Narrow: narrowCall}
			if i == 0 { // on the others, TestLargeProblems looks at workers
				o.Workers = open
			}
			kerneltest.Run(t, func() (kernels.Backend, error) { return open(0) }, o)
		})
		if level.far == nil { // the same functions serve memory that no cache holds
			continue
		}
		t.Run(level.name+" far", func(t *testing.T) {
			kerneltest.Run(t, func() (kernels.Backend, error) {
				b := newBackend(0, level)
				b.farBytes = 0
				return b, nil
			}, kerneltest.Options{Narrow: narrowCall})
		})
	}
}

// narrowCall says which calls the backend takes bfloat16 views of.
func narrowCall(c kernels.Call) bool {
	switch c.(type) {
	case kernels.Convert, kernels.Fill, kernels.CacheWrite, kernels.CachedAttention:
		return true
	}
	return false
}

func TestOpenChoosesTheTier(t *testing.T) {
	for _, level := range tiers() {
		t.Setenv(tierVariable, level.name)
		be, err := kernels.Open("cpu", kernels.Options{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := be.(*Backend).tier; got != level {
			t.Errorf("%s=%s gives the tier %s", tierVariable, level.name, got.name)
		}
		_ = be.Close()
	}
	t.Setenv(tierVariable, "mmx")
	if _, err := kernels.Open("cpu", kernels.Options{}); err == nil || !strings.Contains(err.Error(), "this machine has") {
		t.Errorf("an unknown tier gives the error %v", err)
	}
}

func TestRefusals(t *testing.T) {
	b := New(1)
	defer func() { _ = b.Close() }()
	x := kernels.HostView(make([]float32, 6), 2, 3)
	w := kernels.HostView(make([]float32, 3), 3)
	d := kernels.HostView(make([]float64, 6), 2, 3)
	h := kernels.HostView(make([]uint16, 6), 2, 3)
	out := kernels.HostView(make([]float32, 6), 2, 3)
	square := kernels.HostView(make([]float32, 4), 2, 2)
	product := func() kernels.Args {
		tall := kernels.HostView(make([]float32, 27), 9, 3)
		return kernels.Args{Out: []kernels.View{kernels.HostView(make([]float32, 18), 9, 2)}, In: []kernels.View{tall, out}}
	}
	for _, c := range []struct {
		call kernels.Call
		args kernels.Args
		want string
	}{
		{kernels.Add{}, kernels.Args{Out: []kernels.View{d}, In: []kernels.View{d, d}}, "ref backend serves f64"},
		{kernels.Scale{}, kernels.Args{Out: []kernels.View{h}, In: []kernels.View{h}}, "computes in f32 only"},
		{kernels.MatMul{Residual: true}, kernels.Args{Out: []kernels.View{out}, In: []kernels.View{square, x, out}}, "shares memory with input 2"},
		{&kernels.Add{}, kernels.Args{Out: []kernels.View{out}, In: []kernels.View{x, x}}, "as *kernels.Add"},
		{nil, kernels.Args{}, "no call"},
		{kernels.MatMul{TransB: true}, product(), "ask Workspace"},
		{kernels.Add{}, kernels.Args{Out: []kernels.View{kernels.Shaped(kernels.F32, 2, 3)}, In: []kernels.View{x, x}}, "needs 24"},
		{kernels.AddBias{}, kernels.Args{Out: []kernels.View{x}, In: []kernels.View{x, w}}, "shares memory with input 0"},
		{kernels.Activation{Kind: "relu"}, kernels.Args{Out: []kernels.View{out}, In: []kernels.View{x}}, "have gelu_tanh, silu"},
		{kernels.Softcap{}, kernels.Args{Out: []kernels.View{out}, In: []kernels.View{x}}, "above 0"},
	} {
		if _, err := b.Bind(c.call, c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: error %v, want one with %q", c.call, err, c.want)
		}
	}
	if _, err := kernels.Open("cpu", kernels.Options{Workers: -1}); err == nil {
		t.Error("-1 workers are accepted")
	}
}
