package cpu

import (
	"fmt"
	"math"

	"prenorm/kernels"
)

func init() {
	enterPlain(bindAdd)
	enterPlain(bindScale)
	enterPlain(bindGradScale)
	enter(planSoftcap, bindSoftcap)
	enterPlain(bindAddBias)
	enterPlain(bindConvert)
	enter(planFill, bindFill)
}

// run1 is a launch of a single loop.
func (b *Backend) run1(l *loop) kernels.Launch {
	return func() error {
		b.pool.run(l)
		return nil
	}
}

// spanSize is the number of elements of one task of an elementwise loop, a multiple of 4 (dropout's blocks).
const spanSize = 8192

// spans is the loop over blocks lo … hi of n elements that take about ns nanoseconds each.
func spans(n int, ns float64, fn func(lo, hi int)) *loop {
	return newLoop(blocks(n, spanSize), ns*spanSize, func(t int) { fn(t*spanSize, min((t+1)*spanSize, n)) })
}

// rowSpans is the loop over blocks of rows of the given width.
func rowSpans(rows, width int, ns float64, fn func(lo, hi int)) *loop {
	per := max(1, spanSize/max(width, 1))
	return newLoop(blocks(rows, per), ns*float64(per*width), func(t int) { fn(t*per, min((t+1)*per, rows)) })
}

func bindAdd(b *Backend, _ kernels.Add, a kernels.Args) kernels.Launch {
	z, x, y := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32()
	v := b.across(a)
	return b.run1(b.fenced(v, spans(len(z), nsElem, func(lo, hi int) { v.add(z[lo:hi], x[lo:hi], y[lo:hi]) })))
}

func bindScale(b *Backend, c kernels.Scale, a kernels.Args) kernels.Launch {
	y, x, f := a.Out[0].F32(), a.In[0].F32(), float32(c.Factor)
	v := b.across(a)
	return b.run1(b.fenced(v, spans(len(y), nsElem, func(lo, hi int) { v.multiply(y[lo:hi], x[lo:hi], f) })))
}

func bindGradScale(_ *Backend, _ kernels.GradScale, a kernels.Args) kernels.Launch {
	y, x := a.Out[0].F32(), a.In[0].F32()
	return func() error {
		copy(y, x)
		return nil
	}
}

func planSoftcap(c kernels.Softcap, _ kernels.Args, _ *scratch) (none, error) {
	if !(c.Cap > 0) {
		return none{}, fmt.Errorf("softcap: cap %g must be above 0", c.Cap)
	}
	return none{}, nil
}

func bindSoftcap(b *Backend, c kernels.Softcap, a kernels.Args, _ none) kernels.Launch {
	y, x := a.Out[0].F32(), a.In[0].F32()
	return b.run1(spans(len(y), nsScalar, func(lo, hi int) { softcap(y[lo:hi], x[lo:hi], float32(c.Cap)) }))
}

func bindAddBias(b *Backend, _ kernels.AddBias, a kernels.Args) kernels.Launch {
	y, x, bias := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32()
	w, v := len(bias), b.across(a)
	return b.run1(b.fenced(v, rowSpans(a.In[0].Dim(0), w, nsElem, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			v.addRow(y[r*w:][:w], x[r*w:][:w], bias)
		}
	})))
}

func bindConvert(b *Backend, _ kernels.Convert, a kernels.Args) kernels.Launch {
	out, in := a.Out[0], a.In[0]
	var convert func(lo, hi int)
	switch {
	case out.DType == in.DType:
		size := in.DType.Size()
		convert = func(lo, hi int) { copy(out.Host[lo*size:hi*size], in.Host[lo*size:hi*size]) }
	case out.DType == kernels.BF16:
		y, x := out.BF16(), in.F32()
		convert = func(lo, hi int) { b.tier.narrow(y[lo:hi], x[lo:hi]) }
	default:
		y, x := out.F32(), in.BF16()
		convert = func(lo, hi int) { b.tier.widen(y[lo:hi], x[lo:hi]) }
	}
	return b.run1(spans(in.Len(), nsElem, convert))
}

// planFill wants the value to be one that the type holds.
func planFill(c kernels.Fill, a kernels.Args, _ *scratch) (none, error) {
	var limit float64
	switch a.Out[0].DType {
	case kernels.I32:
		limit = 1 << 31
	case kernels.I8:
		limit = 1 << 7
	default:
		return none{}, nil
	}
	if c.Value != math.Trunc(c.Value) || c.Value < -limit || c.Value >= limit {
		return none{}, fmt.Errorf("fill: %v cannot hold %g", a.Out[0].DType, c.Value)
	}
	return none{}, nil
}

// bindFill serves every type.
func bindFill(b *Backend, c kernels.Fill, a kernels.Args, _ none) kernels.Launch {
	v := a.Out[0]
	switch v.DType {
	case kernels.F64:
		return b.run1(fill(v.F64(), c.Value))
	case kernels.I32:
		return b.run1(fill(v.I32(), int32(c.Value)))
	case kernels.I8:
		return b.run1(fill(v.I8(), int8(c.Value)))
	case kernels.BF16:
		return b.run1(fill(v.BF16(), kernels.ToBF16(float32(c.Value))))
	}
	return b.run1(b.fillFloats(v.F32(), float32(c.Value)))
}

func (b *Backend) fillFloats(x []float32, value float32) *loop {
	v := b.moving(4 * len(x))
	return b.fenced(v, spans(len(x), nsElem, func(lo, hi int) { v.fill(x[lo:hi], value) }))
}

func fill[E any](x []E, v E) *loop {
	return spans(len(x), nsElem, func(lo, hi int) {
		x := x[lo:hi]
		for i := range x {
			x[i] = v
		}
	})
}
