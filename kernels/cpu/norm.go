package cpu

import "prenorm/kernels"

// statistic is view i of an optional group.
func statistic(views []kernels.View, i int) []float32 {
	if len(views) == 0 {
		return nil
	}
	return views[i].F32()
}

// unitOf is what is added to a stored gain.
func unitOf(unitOffset bool) float32 {
	if unitOffset {
		return 1
	}
	return 0
}

// adding makes elements lo … hi-1 of the sum whose norm a call takes, just before the norm reads them.
func (v *vectors) adding(a kernels.Args) func(lo, hi int) {
	z, x, r := a.Out[1].F32(), a.In[0].F32(), a.In[1].F32()
	return func(lo, hi int) { v.add(z[lo:hi], x[lo:hi], r[lo:hi]) }
}

// past is the gradient that came past a norm, nil for none. It may be the memory of dx, so each task begins dx in a row of its own.
type past struct {
	r    []float32
	rows []float32 // one for each task
}

// row is where task t begins the row dx.
func (p past) row(t int, dx []float32) []float32 {
	if p.r == nil {
		return dx
	}
	return p.rows[t*len(dx):][:len(dx)]
}
