package cpu

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"prenorm/kernels"
)

func init() {
	enter(func(c kernels.Activation, _ kernels.Args, _ *scratch) (curve, error) { return findCurve(c, c.Kind) }, bindActivation)
	enter(func(c kernels.ActivationGrad, _ kernels.Args, _ *scratch) (curve, error) { return findCurve(c, c.Kind) }, bindActivationGrad)
	enter(func(c kernels.GatedActivation, _ kernels.Args, _ *scratch) (curve, error) {
		return findCurve(c, c.Kind)
	}, bindGated)
	enter(func(c kernels.GatedActivationGrad, _ kernels.Args, _ *scratch) (curve, error) {
		return findCurve(c, c.Kind)
	}, bindGatedGrad)
}

// curve is one kind of activation.
type curve struct {
	value func(y, x []float32)      // y = f(x)
	slope func(y, d, x []float32)   // y = f(x), d = f'(x)
	grad  func(dx, x, dy []float32) // dx = f'(x) dy; dx may be dy
}

var curves = map[string]curve{"gelu_tanh": {gelu, geluSlope, geluGrad}, "silu": {silu, siluSlope, siluGrad}}

func findCurve(c kernels.Call, kind string) (curve, error) {
	f, ok := curves[kind]
	if !ok {
		return f, fmt.Errorf("%s: no activation %q (have %s)", c.Kernel(), kind, strings.Join(slices.Sorted(maps.Keys(curves)), ", "))
	}
	return f, nil
}

// The tanh of GELU is written as a sigmoid, 0.5 (1 + tanh u) = sigmoid(2u): that does not cancel where u is negative.
const (
	gelu1 = 2 * 0.7978845608028654 // 2 sqrt(2/π)
	gelu3 = 0.044715
)

func gelu(y, x []float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] = v * sigmoid32(gelu1*v*(1+gelu3*v*v))
	}
}

// geluAt is GELU and its derivative.
func geluAt(v float32) (y, d float32) {
	s := sigmoid32(gelu1 * v * (1 + gelu3*v*v))
	bend := s * (1 - s)
	if bend != 0 || v-v != 0 { // far from 0 the next factor may overflow, but what is not finite must show
		bend *= gelu1 * v * (1 + 3*gelu3*v*v)
	}
	return v * s, s + bend
}

func geluSlope(y, d, x []float32) {
	y, d = y[:len(x)], d[:len(x)]
	for i, v := range x {
		y[i], d[i] = geluAt(v)
	}
}

func geluGrad(dx, x, dy []float32) {
	dx, dy = dx[:len(x)], dy[:len(x)]
	for i, v := range x {
		_, d := geluAt(v)
		dx[i] = dy[i] * d
	}
}

func silu(y, x []float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] = v * sigmoid32(v)
	}
}

// siluAt is SiLU and its derivative.
func siluAt(v float32) (y, d float32) {
	s := sigmoid32(v)
	return v * s, s + v*s*(1-s)
}

func siluSlope(y, d, x []float32) {
	y, d = y[:len(x)], d[:len(x)]
	for i, v := range x {
		y[i], d[i] = siluAt(v)
	}
}

func siluGrad(dx, x, dy []float32) {
	dx, dy = dx[:len(x)], dy[:len(x)]
	for i, v := range x {
		_, d := siluAt(v)
		dx[i] = dy[i] * d
	}
}

// times is y *= x.
func times(y, x []float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] *= x[i]
	}
}

func bindActivation(b *Backend, _ kernels.Activation, a kernels.Args, f curve) kernels.Launch {
	y, x := a.Out[0].F32(), a.In[0].F32()
	return b.run1(spans(len(y), nsExp, func(lo, hi int) { f.value(y[lo:hi], x[lo:hi]) }))
}

func bindActivationGrad(b *Backend, _ kernels.ActivationGrad, a kernels.Args, f curve) kernels.Launch {
	dx, x, dy := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32()
	return b.run1(spans(len(dx), nsExp, func(lo, hi int) { f.grad(dx[lo:hi], x[lo:hi], dy[lo:hi]) }))
}

func bindGated(b *Backend, _ kernels.GatedActivation, a kernels.Args, f curve) kernels.Launch {
	y, gate, up := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32()
	return b.run1(spans(len(y), nsExp, func(lo, hi int) {
		f.value(y[lo:hi], gate[lo:hi])
		times(y[lo:hi], up[lo:hi])
	}))
}

func bindGatedGrad(b *Backend, _ kernels.GatedActivationGrad, a kernels.Args, f curve) kernels.Launch {
	dgate, dup := a.Out[0].F32(), a.Out[1].F32()
	gate, up, dy := a.In[0].F32(), a.In[1].F32(), a.In[2].F32()
	return b.run1(spans(len(dup), nsExp, func(lo, hi int) {
		f.slope(dup[lo:hi], dgate[lo:hi], gate[lo:hi])
		dgate, dup, up, dy := dgate[lo:hi], dup[lo:hi], up[lo:hi], dy[lo:hi]
		for i := range dy {
			dgate[i] *= dy[i] * up[i]
			dup[i] *= dy[i]
		}
	}))
}
