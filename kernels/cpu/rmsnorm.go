package cpu

import (
	"math"

	"prenorm/kernels"
)

func init() {
	enterPlain(bindRMSNorm)
	enter(planRMSNormGrad, bindRMSNormGrad)
}

// reciprocalRMS is 1/sqrt(mean(x²) + eps), rounded to float32.
func reciprocalRMS(x []float32, eps float64) float32 {
	return float32(1 / math.Sqrt(sumSquares(x)/float64(len(x))+eps))
}

func bindRMSNorm(b *Backend, c kernels.RMSNorm, a kernels.Args) kernels.Launch {
	y, x, gain := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32()
	rstd := statistic(a.Aux, 0)
	d, unit := len(gain), unitOf(c.UnitOffset)
	return b.run1(rowSpans(len(x)/d, d, 2*nsElem, func(lo, hi int) {
		for n := lo; n < hi; n++ {
			x, y := x[n*d:][:d], y[n*d:][:d]
			r := reciprocalRMS(x, c.Eps)
			for i, g := range gain {
				y[i] = x[i] * r * (unit + g)
			}
			if rstd != nil {
				rstd[n] = r
			}
		}
	}))
}

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

func planRMSNormGrad(_ kernels.RMSNormGrad, a kernels.Args, s *scratch) (rowSum, error) {
	d := a.In[1].Dim(0)
	return planRowSum(a.In[0].Len()/d, d, s), nil
}

func bindRMSNormGrad(b *Backend, c kernels.RMSNormGrad, a kernels.Args, p rowSum) kernels.Launch {
	dx, x, gain, dy := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32(), a.In[2].F32()
	saved := statistic(a.Saved, 0)
	d, unit := p.width, unitOf(c.UnitOffset)
	runs := len(x) / d
	rows := newLoop(p.count, 4*nsElem*float64(p.per*d), func(t int) {
		dgain := p.block(t)
		for n := t * p.per; n < min((t+1)*p.per, runs); n++ {
			x := x[n*d:][:d]
			var r float32
			if saved != nil {
				r = saved[n]
			} else {
				r = reciprocalRMS(x, c.Eps)
			}
			rmsNormGradRow(dx[n*d:][:d], dgain, x, gain, dy[n*d:][:d], r, unit)
		}
	})
	finish := p.finish(a.Out[1].F32())
	return func() error {
		b.pool.run(rows)
		b.pool.run(finish)
		return nil
	}
}

// rmsNormGradRow sets one run of dx and adds to dgain.
func rmsNormGradRow(dx, dgain, x, gain, dy []float32, r, unit float32) {
	d := len(gain)
	dx, dgain, x, dy = dx[:d], dgain[:d], x[:d], dy[:d]
	var even, odd float64
	for i, g := range gain {
		h := (unit + g) * dy[i]
		dx[i] = h
		dgain[i] += dy[i] * (x[i] * r)
		even, odd = odd, even+float64(h)*float64(x[i])
	}
	m := float32((even + odd) / float64(d) * float64(r) * float64(r))
	for i := range dx {
		dx[i] = r * (dx[i] - x[i]*m)
	}
}
