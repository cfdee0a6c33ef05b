package optim

import (
	"math"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
)

var config = Config{Betas: []float64{0.9, 0.95}, Eps: 1e-8, Momentum: 0.9}

func open(t *testing.T, kind string) Optimizer {
	t.Helper()
	o, err := New(kind, config)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestKinds(t *testing.T) {
	if want := []string{"adamw", "sgd"}; !slices.Equal(Kinds(), want) {
		t.Errorf("kinds %v, want %v", Kinds(), want)
	}
}

// TestCallTakesState holds for any member: its call accepts exactly the views that State announces, and steps all of them.
func TestCallTakesState(t *testing.T) {
	for _, kind := range Kinds() {
		o := open(t, kind)
		if o.Kind() != kind {
			t.Errorf("%s calls itself %s", kind, o.Kind())
		}
		names := o.State()
		if slices.Sort(names); len(slices.Compact(names)) != len(o.State()) {
			t.Errorf("%s: state names %v repeat", kind, names)
		}
		call := o.Update(0.1)
		for extra := -1; extra <= 1; extra++ {
			var in []kernels.View
			for range 2 + len(o.State()) + extra { // parameter, state, gradient
				in = append(in, kernels.Shaped(kernels.F32, 3, 5))
			}
			out, _, err := call.Infer(append(in, kernels.Shaped(kernels.F32, 4)))
			if (err == nil) != (extra == 0) || extra == 0 && len(out) != 1+len(o.State()) {
				t.Errorf("%s: call with %d state views gives %d outputs, error %v", kind, len(o.State())+extra, len(out), err)
			}
		}
		if o.Update(0.1) != call || o.Update(0) == call {
			t.Errorf("%s: the call is not a function of the weight decay", kind)
		}
	}
}

// step does one scalar update as the doc comments of the kernels define it, and returns the parameter.
func step(t *testing.T, call kernels.Call, hyper [3]float64, p, g float64, state []float64) float64 {
	t.Helper()
	lr := hyper[0]
	switch c := call.(type) {
	case kernels.AdamW:
		state[0] = c.Beta1*state[0] + (1-c.Beta1)*g
		state[1] = c.Beta2*state[1] + (1-c.Beta2)*g*g
		return p*(1-lr*c.WeightDecay) - lr*(state[0]/hyper[1])/(math.Sqrt(state[1]/hyper[2])+c.Eps)
	case kernels.SGD:
		state[0] = c.Momentum*state[0] + g
		return p*(1-lr*c.WeightDecay) - lr*state[0]
	}
	t.Fatalf("no definition of %s", call.Kernel())
	return 0
}

// TestFigures follows one parameter over three updates. The figures come from a separate program that follows the textbook loops, with
// gradients and rates as below, weight decay 0.1.
func TestFigures(t *testing.T) {
	gradients, rates := []float64{0.5, -2, 0.25}, []float64{0.1, 0.2, 0.05}
	for kind, want := range map[string][]float64{
		"adamw": {1.385000002, 1.467980356085541, 1.478286887641492},
		"sgd":   {1.435, 1.7163, 1.7649685},
	} {
		o := open(t, kind)
		state := make([]float64, len(o.State()))
		p := 1.5
		for i, g := range gradients {
			p = step(t, o.Update(0.1), o.Hyper(int64(i+1), rates[i]), p, g, state)
			if math.Abs(p-want[i]) > 1e-14 {
				t.Errorf("%s: parameter %v after update %d, want %v", kind, p, i+1, want[i])
			}
		}
	}
}

func TestHyper(t *testing.T) {
	h := open(t, "adamw").Hyper(2, 0.3)
	if want := [3]float64{0.3, 0.19, 0.0975}; math.Abs(h[0]-want[0])+math.Abs(h[1]-want[1])+math.Abs(h[2]-want[2]) > 1e-15 {
		t.Errorf("hyper %v, want %v", h, want)
	}
	if h := open(t, "adamw").Hyper(1<<40, 1); h != [3]float64{1, 1, 1} {
		t.Errorf("hyper %v after many steps, want ones", h)
	}
	if h := open(t, "sgd").Hyper(7, 0.3); h != [3]float64{0.3} {
		t.Errorf("hyper of sgd %v, want the rate and zeros", h)
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		kind   string
		change func(*Config)
		want   string
	}{
		{"adam", func(*Config) {}, "have adamw, sgd"},
		{"adamw", func(c *Config) { c.Betas = []float64{0.9} }, "betas has 1"},
		{"adamw", func(c *Config) { c.Betas = []float64{0.9, 1} }, "betas[1] is 1"},
		{"adamw", func(c *Config) { c.Betas = []float64{math.NaN(), 0.9} }, "betas[0] is NaN"},
		{"adamw", func(c *Config) { c.Eps = 0 }, "eps is 0"},
		{"adamw", func(c *Config) { c.Eps = math.Inf(1) }, "eps is +Inf"},
		{"sgd", func(c *Config) { c.Momentum = -0.1 }, "momentum is -0.1"},
	} {
		bad := config
		c.change(&bad)
		if _, err := New(c.kind, bad); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %+v: %v, want an error with %q", c.kind, bad, err, c.want)
		}
	}
}
