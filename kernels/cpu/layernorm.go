package cpu

import (
	"math"

	"prenorm/kernels"
)

func init() {
	enterPlain(bindLayerNorm)
	enterPlain(bindAddLayerNorm)
	enter(planLayerNormGrad, bindLayerNormGrad)
	enter(planAddLayerNormGrad, bindAddLayerNormGrad)
}

// moments are the mean of x and 1/sqrt(biased variance + eps), rounded to float32. Sums are taken in float64, where the difference of the mean
// square and the squared mean is still good to more than the elements are.
func (v *vectors) moments(x []float32, eps float64) (mean, rstd float32) {
	n := float64(len(x))
	sum, squares := v.sums(x)
	m := sum / n
	variance := squares/n - m*m
	if variance < 0 { // NaN stays
		variance = 0
	}
	return float32(m), float32(1 / math.Sqrt(variance+eps))
}

func bindLayerNorm(b *Backend, c kernels.LayerNorm, a kernels.Args) kernels.Launch {
	return b.layerNorm(c, a, nil)
}

func bindAddLayerNorm(b *Backend, c kernels.AddLayerNorm, a kernels.Args) kernels.Launch {
	of := kernels.Args{Out: a.Out[:1], Aux: a.Aux, In: []kernels.View{a.Out[1], a.In[2], a.In[3]}}
	return b.layerNorm(kernels.LayerNorm(c), of, b.tier.adding(a))
}

// layerNorm binds the norm of x, each run of which before, unless it is nil, writes first.
func (b *Backend) layerNorm(c kernels.LayerNorm, a kernels.Args, before func(lo, hi int)) kernels.Launch {
	y, x, gain, bias := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32(), a.In[2].F32()
	mean, rstd := statistic(a.Aux, 0), statistic(a.Aux, 1)
	d, unit := len(gain), unitOf(c.UnitOffset)
	return b.run1(rowSpans(len(x)/d, d, 3*nsElem, func(lo, hi int) {
		for n := lo; n < hi; n++ {
			if before != nil {
				before(n*d, (n+1)*d)
			}
			x, y, bias := x[n*d:][:d], y[n*d:][:d], bias[:d]
			m, r := b.tier.moments(x, c.Eps)
			b.tier.layerRow(y, x, gain, bias, m, r, unit)
			if mean != nil {
				mean[n], rstd[n] = m, r
			}
		}
	}))
}

type layerNormPlan struct {
	gain, bias rowSum
	rows       []float32 // of past
}

func planLayerNormGrad(_ kernels.LayerNormGrad, a kernels.Args, s *scratch) (p layerNormPlan, err error) {
	d := a.In[1].Dim(0)
	p.gain = planRowSum(a.In[0].Len()/d, d, s)
	p.bias = planRowSum(a.In[0].Len()/d, d, s)
	return p, nil
}

func bindLayerNormGrad(b *Backend, c kernels.LayerNormGrad, a kernels.Args, p layerNormPlan) kernels.Launch {
	return b.layerNormGrad(c, a, p, past{})
}

func planAddLayerNormGrad(c kernels.AddLayerNormGrad, a kernels.Args, s *scratch) (p layerNormPlan, err error) {
	if p, err = planLayerNormGrad(kernels.LayerNormGrad(c), a, s); err == nil {
		p.rows = s.f32(p.gain.count * p.gain.width)
	}
	return p, err
}

func bindAddLayerNormGrad(b *Backend, c kernels.AddLayerNormGrad, a kernels.Args, p layerNormPlan) kernels.Launch {
	return b.layerNormGrad(kernels.LayerNormGrad(c), a, p, past{r: a.In[4].F32(), rows: p.rows})
}

func (b *Backend) layerNormGrad(c kernels.LayerNormGrad, a kernels.Args, p layerNormPlan, past past) kernels.Launch {
	dx, x, gain, dy := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32(), a.In[3].F32()
	mean, rstd := statistic(a.Saved, 0), statistic(a.Saved, 1)
	d, per, unit := p.gain.width, p.gain.per, unitOf(c.UnitOffset)
	runs := len(x) / d
	rows := newLoop(p.gain.count, 5*nsElem*float64(per*d), func(t int) {
		dgain, dbias := p.gain.block(t), p.bias.block(t)
		for n := t * per; n < min((t+1)*per, runs); n++ {
			x, dy := x[n*d:][:d], dy[n*d:][:d]
			var m, r float32
			if mean != nil {
				m, r = mean[n], rstd[n]
			} else {
				m, r = b.tier.moments(x, c.Eps)
			}
			dx := dx[n*d:][:d]
			v := past.row(t, dx)
			sum, sumH := b.tier.layerGradRow(v, dgain, dbias, x, gain, dy, m, r, unit)
			mv, mh := float32(float64(sum)/float64(d)), float32(float64(sumH)/float64(d))
			if past.r == nil {
				b.tier.layerGradEnd(dx, x, m, r, mv, mh)
			} else {
				b.tier.layerGradAdd(dx, v, x, past.r[n*d:], m, r, mv, mh)
			}
		}
	})
	finishGain, finishBias := p.gain.finish(a.Out[1].F32()), p.bias.finish(a.Out[2].F32())
	return func() error {
		b.pool.run(rows)
		b.pool.run(finishGain)
		b.pool.run(finishBias)
		return nil
	}
}
