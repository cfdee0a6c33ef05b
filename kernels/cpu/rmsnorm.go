package cpu

import (
	"math"

	"prenorm/kernels"
)

func init() {
	enterPlain(bindRMSNorm)
	enterPlain(bindAddRMSNorm)
	enter(planRMSNormGrad, bindRMSNormGrad)
	enter(planAddRMSNormGrad, bindAddRMSNormGrad)
}

// reciprocalRMS is 1/sqrt(mean(x²) + eps), rounded to float32.
func (v *vectors) reciprocalRMS(x []float32, eps float64) float32 {
	_, squares := v.sums(x)
	return float32(1 / math.Sqrt(squares/float64(len(x))+eps))
}

func bindRMSNorm(b *Backend, c kernels.RMSNorm, a kernels.Args) kernels.Launch {
	return b.rmsNorm(c, a, nil)
}

func bindAddRMSNorm(b *Backend, c kernels.AddRMSNorm, a kernels.Args) kernels.Launch {
	of := kernels.Args{Out: a.Out[:1], Aux: a.Aux, In: []kernels.View{a.Out[1], a.In[2]}}
	return b.rmsNorm(kernels.RMSNorm(c), of, b.tier.adding(a))
}

// rmsNorm binds the norm of x, each run of which before, unless it is nil, writes first.
func (b *Backend) rmsNorm(c kernels.RMSNorm, a kernels.Args, before func(lo, hi int)) kernels.Launch {
	y, x, gain := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32()
	rstd := statistic(a.Aux, 0)
	d, unit := len(gain), unitOf(c.UnitOffset)
	return b.run1(rowSpans(len(x)/d, d, 2*nsElem, func(lo, hi int) {
		for n := lo; n < hi; n++ {
			if before != nil {
				before(n*d, (n+1)*d)
			}
			x, y := x[n*d:][:d], y[n*d:][:d]
			r := b.tier.reciprocalRMS(x, c.Eps)
			b.tier.rmsRow(y, x, gain, r, unit)
			if rstd != nil {
				rstd[n] = r
			}
		}
	}))
}

type rmsNormPlan struct {
	gain rowSum
	rows []float32 // of past
}

func planRMSNormGrad(_ kernels.RMSNormGrad, a kernels.Args, s *scratch) (p rmsNormPlan, err error) {
	d := a.In[1].Dim(0)
	p.gain = planRowSum(a.In[0].Len()/d, d, s)
	return p, nil
}

func bindRMSNormGrad(b *Backend, c kernels.RMSNormGrad, a kernels.Args, p rmsNormPlan) kernels.Launch {
	return b.rmsNormGrad(c, a, p, past{})
}

func planAddRMSNormGrad(c kernels.AddRMSNormGrad, a kernels.Args, s *scratch) (p rmsNormPlan, err error) {
	if p, err = planRMSNormGrad(kernels.RMSNormGrad(c), a, s); err == nil {
		p.rows = s.f32(p.gain.count * p.gain.width)
	}
	return p, err
}

func bindAddRMSNormGrad(b *Backend, c kernels.AddRMSNormGrad, a kernels.Args, p rmsNormPlan) kernels.Launch {
	return b.rmsNormGrad(kernels.RMSNormGrad(c), a, p, past{r: a.In[3].F32(), rows: p.rows})
}

func (b *Backend) rmsNormGrad(c kernels.RMSNormGrad, a kernels.Args, p rmsNormPlan, past past) kernels.Launch {
	dx, x, gain, dy := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32(), a.In[2].F32()
	saved := statistic(a.Saved, 0)
	d, per, unit := p.gain.width, p.gain.per, unitOf(c.UnitOffset)
	runs := len(x) / d
	rows := newLoop(p.gain.count, 4*nsElem*float64(per*d), func(t int) {
		dgain := p.gain.block(t)
		for n := t * per; n < min((t+1)*per, runs); n++ {
			x := x[n*d:][:d]
			var r float32
			if saved != nil {
				r = saved[n]
			} else {
				r = b.tier.reciprocalRMS(x, c.Eps)
			}
			dx := dx[n*d:][:d]
			h := past.row(t, dx)
			sum := b.tier.rmsGradRow(h, dgain, x, gain, dy[n*d:][:d], r, unit)
			m := float32(float64(sum) / float64(d) * float64(r) * float64(r))
			if past.r == nil {
				b.tier.rmsGradEnd(dx, x, r, m)
			} else {
				b.tier.rmsGradAdd(dx, h, x, past.r[n*d:], r, m)
			}
		}
	})
	finish := p.gain.finish(a.Out[1].F32())
	return func() error {
		b.pool.run(rows)
		b.pool.run(finish)
		return nil
	}
}
