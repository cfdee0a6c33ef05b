package cpu

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"prenorm/kernels"
)

func init() {
	enter(func(c kernels.Activation, _ kernels.Args, s *scratch) (string, error) {
		return c.Kind, s.tier.hasCurve(c, c.Kind)
	}, bindActivation)
	enter(func(c kernels.ActivationGrad, _ kernels.Args, s *scratch) (string, error) {
		return c.Kind, s.tier.hasCurve(c, c.Kind)
	}, bindActivationGrad)
	enter(func(c kernels.GatedActivation, _ kernels.Args, s *scratch) (string, error) {
		return c.Kind, s.tier.hasCurve(c, c.Kind)
	}, bindGated)
	enter(func(c kernels.GatedActivationGrad, _ kernels.Args, s *scratch) (string, error) {
		return c.Kind, s.tier.hasCurve(c, c.Kind)
	}, bindGatedGrad)
}

// curve is one kind of activation f.
type curve struct {
	value    func(y, x []float32)                     // y = f(x)
	grad     func(dx, x, dy []float32)                // dx = f'(x) dy; dx may be dy
	gate     func(y, gate, up []float32)              // y = f(gate) up
	gateGrad func(dgate, dup, gate, up, dy []float32) // dgate = f'(gate) up dy, dup = f(gate) dy
}

// hasCurve wants an activation to be one of those that there are.
func (v *vectors) hasCurve(c kernels.Call, kind string) error {
	if _, ok := v.curves[kind]; !ok {
		return fmt.Errorf("%s: no activation %q (have %s)", c.Kernel(), kind, strings.Join(slices.Sorted(maps.Keys(v.curves)), ", "))
	}
	return nil
}

// curveOf makes a curve of a function that returns the activation and its derivative.
func curveOf(at func(x float32) (y, d float32)) curve {
	return curve{
		value: func(y, x []float32) {
			y = y[:len(x)]
			for i, v := range x {
				y[i], _ = at(v)
			}
		},
		grad: func(dx, x, dy []float32) {
			dx, dy = dx[:len(x)], dy[:len(x)]
			for i, v := range x {
				_, d := at(v)
				dx[i] = dy[i] * d
			}
		},
		gate: func(y, gate, up []float32) {
			y, up = y[:len(gate)], up[:len(gate)]
			for i, v := range gate {
				f, _ := at(v)
				y[i] = f * up[i]
			}
		},
		gateGrad: func(dgate, dup, gate, up, dy []float32) {
			dgate, dup, up, dy = dgate[:len(gate)], dup[:len(gate)], up[:len(gate)], dy[:len(gate)]
			for i, v := range gate {
				f, d := at(v)
				dgate[i], dup[i] = d*dy[i]*up[i], f*dy[i]
			}
		},
	}
}

// The tanh of GELU is written as a sigmoid, 0.5 (1 + tanh u) = sigmoid(2u): that does not cancel where u is negative.
const (
	gelu1 = 2 * 0.7978845608028654 // 2 sqrt(2/π)
	gelu3 = 0.044715
)

// bent is the sigmoid g of z and g (1 - g), for e = e⁻ᶻ. As 1 - g = e g, nothing needs to cancel.
func bent(e float32) (g, bend float32) {
	g = 1 / (1 + e)
	if e < 1 {
		return g, e * g * g
	}
	return g, (1 - g) * g
}

// geluAt is GELU and its derivative.
func geluAt(v float32) (y, d float32) {
	s, bend := bent(exp32(-gelu1 * v * (1 + gelu3*v*v)))
	if bend != 0 || v-v != 0 { // far from 0 the next factor may overflow, but what is not finite must show
		bend *= gelu1 * v * (1 + 3*gelu3*v*v)
	}
	return v * s, s + bend
}

// siluAt is SiLU and its derivative.
func siluAt(v float32) (y, d float32) {
	s, bend := bent(exp32(-v))
	if bend != 0 || v-v != 0 {
		bend *= v
	}
	return v * s, s + bend
}

func bindActivation(b *Backend, _ kernels.Activation, a kernels.Args, kind string) kernels.Launch {
	y, x := a.Out[0].F32(), a.In[0].F32()
	v := b.across(a)
	f := v.curves[kind]
	return b.run1(b.fenced(v, spans(len(y), nsExp, func(lo, hi int) { f.value(y[lo:hi], x[lo:hi]) })))
}

func bindActivationGrad(b *Backend, _ kernels.ActivationGrad, a kernels.Args, kind string) kernels.Launch {
	dx, x, dy := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32()
	v := b.across(a)
	f := v.curves[kind]
	return b.run1(b.fenced(v, spans(len(dx), nsExp, func(lo, hi int) { f.grad(dx[lo:hi], x[lo:hi], dy[lo:hi]) })))
}

func bindGated(b *Backend, _ kernels.GatedActivation, a kernels.Args, kind string) kernels.Launch {
	y, gate, up := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32()
	v := b.across(a)
	f := v.curves[kind]
	return b.run1(b.fenced(v, spans(len(y), nsExp, func(lo, hi int) { f.gate(y[lo:hi], gate[lo:hi], up[lo:hi]) })))
}

func bindGatedGrad(b *Backend, _ kernels.GatedActivationGrad, a kernels.Args, kind string) kernels.Launch {
	dgate, dup := a.Out[0].F32(), a.Out[1].F32()
	gate, up, dy := a.In[0].F32(), a.In[1].F32(), a.In[2].F32()
	v := b.across(a)
	f := v.curves[kind]
	return b.run1(b.fenced(v, spans(len(dup), nsExp, func(lo, hi int) {
		f.gateGrad(dgate[lo:hi], dup[lo:hi], gate[lo:hi], up[lo:hi], dy[lo:hi])
	})))
}
