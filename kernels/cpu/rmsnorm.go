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
	return rootOf(squares, len(x), eps)
}

// rootOf is the same for n elements whose squares sum to so much.
func rootOf(squares float64, n int, eps float64) float32 {
	return float32(1 / math.Sqrt(squares/float64(n)+eps))
}

func bindRMSNorm(b *Backend, c kernels.RMSNorm, a kernels.Args) kernels.Launch {
	y, x, gain := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32()
	v, d, unit := b.across(a), len(gain), unitOf(c.UnitOffset)
	return b.rmsNorm(a, v, d, func(n int) float32 {
		x := x[n*d:][:d]
		r := v.reciprocalRMS(x, c.Eps)
		v.rmsRow(y[n*d:][:d], x, gain, r, unit)
		return r
	})
}

func bindAddRMSNorm(b *Backend, c kernels.AddRMSNorm, a kernels.Args) kernels.Launch {
	y, z, x, past, gain := a.Out[0].F32(), a.Out[1].F32(), a.In[0].F32(), a.In[1].F32(), a.In[2].F32()
	v, d, unit := b.across(a), len(gain), unitOf(c.UnitOffset)
	return b.rmsNorm(a, v, d, func(n int) float32 {
		x, past := x[n*d:][:d], past[n*d:][:d]
		_, squares := v.addSums(x, past)
		r := rootOf(squares, d, c.Eps)
		v.rmsAddRow(y[n*d:][:d], z[n*d:][:d], x, past, gain, r, unit)
		return r
	})
}

// rmsNorm binds a norm of runs of d elements: row treats one of them by v and returns its 1/rms.
func (b *Backend) rmsNorm(a kernels.Args, v *vectors, d int, row func(n int) float32) kernels.Launch {
	rstd := statistic(a.Aux, 0)
	return b.run1(b.fenced(v, rowSpans(a.Out[0].Len()/d, d, 2*nsElem, func(lo, hi int) {
		for n := lo; n < hi; n++ {
			r := row(n)
			if rstd != nil {
				rstd[n] = r
			}
		}
	})))
}

type rmsNormPlan struct {
	gain rowSum
	rows []float32 // one for each task, in which it begins rows of dx
}

func planRMSNormGrad(_ kernels.RMSNormGrad, a kernels.Args, s *scratch) (p rmsNormPlan, err error) {
	d := a.In[1].Dim(0)
	p.gain = planRowSum(a.In[0].Len()/d, d, s)
	p.rows = s.f32(p.gain.count * d)
	return p, nil
}

func bindRMSNormGrad(b *Backend, c kernels.RMSNormGrad, a kernels.Args, p rmsNormPlan) kernels.Launch {
	return b.rmsNormGrad(c, a, p, nil)
}

func planAddRMSNormGrad(c kernels.AddRMSNormGrad, a kernels.Args, s *scratch) (p rmsNormPlan, err error) {
	return planRMSNormGrad(kernels.RMSNormGrad(c), a, s)
}

func bindAddRMSNormGrad(b *Backend, c kernels.AddRMSNormGrad, a kernels.Args, p rmsNormPlan) kernels.Launch {
	return b.rmsNormGrad(kernels.RMSNormGrad(c), a, p, a.In[3].F32())
}

// rmsNormGrad binds the gradient; past, unless it is nil, is what came past the norm. It may be the memory of dx.
func (b *Backend) rmsNormGrad(c kernels.RMSNormGrad, a kernels.Args, p rmsNormPlan, past []float32) kernels.Launch {
	dx, x, gain, dy := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32(), a.In[2].F32()
	saved := statistic(a.Saved, 0)
	d, per, unit := p.gain.width, p.gain.per, unitOf(c.UnitOffset)
	runs := len(x) / d
	v := b.across(a)
	rows := b.fenced(v, newLoop(p.gain.count, 4*nsElem*float64(per*d), func(t int) {
		dgain, h := p.gain.block(t), p.rows[t*d:][:d]
		for n := t * per; n < min((t+1)*per, runs); n++ {
			x := x[n*d:][:d]
			var r float32
			if saved != nil {
				r = saved[n]
			} else {
				r = v.reciprocalRMS(x, c.Eps)
			}
			dx := dx[n*d:][:d]
			sum := v.rmsGradRow(h, dgain, x, gain, dy[n*d:][:d], r, unit)
			m := float32(float64(sum) / float64(d) * float64(r) * float64(r))
			if past == nil {
				v.rmsGradEnd(dx, h, x, r, m)
			} else {
				v.rmsGradAdd(dx, h, x, past[n*d:], r, m)
			}
		}
	}))
	finish := p.gain.finish(a.Out[1].F32())
	return func() error {
		b.pool.run(rows)
		b.pool.run(finish)
		return nil
	}
}
