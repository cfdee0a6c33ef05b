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
func (v *vectors) reciprocalRMS(x []float32, eps float64) float32 {
	_, squares := v.sums(x)
	return float32(1 / math.Sqrt(squares/float64(len(x))+eps))
}

func bindRMSNorm(b *Backend, c kernels.RMSNorm, a kernels.Args) kernels.Launch {
	y, x, gain := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32()
	rstd := statistic(a.Aux, 0)
	d, unit := len(gain), unitOf(c.UnitOffset)
	return b.run1(rowSpans(len(x)/d, d, 2*nsElem, func(lo, hi int) {
		for n := lo; n < hi; n++ {
			x, y := x[n*d:][:d], y[n*d:][:d]
			r := b.tier.reciprocalRMS(x, c.Eps)
			b.tier.rmsRow(y, x, gain, r, unit)
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
				r = b.tier.reciprocalRMS(x, c.Eps)
			}
			dx := dx[n*d:][:d]
			sum := b.tier.rmsGradRow(dx, dgain, x, gain, dy[n*d:][:d], r, unit)
			b.tier.rmsGradEnd(dx, x, r, float32(float64(sum)/float64(d)*float64(r)*float64(r)))
		}
	})
	finish := p.finish(a.Out[1].F32())
	return func() error {
		b.pool.run(rows)
		b.pool.run(finish)
		return nil
	}
}
