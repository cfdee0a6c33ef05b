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

// moments are the mean of x and 1/sqrt(biased variance + eps), rounded to float32.
func (v *vectors) moments(x []float32, eps float64) (mean, rstd float32) {
	sum, squares := v.sums(x)
	return momentsFrom(sum, squares, len(x), eps)
}

// momentsFrom are the same for n elements with these sums, which are taken in float64: there, the difference of the mean square and the squared
// mean is still good to more than the elements are.
func momentsFrom(sum, squares float64, n int, eps float64) (mean, rstd float32) {
	m := sum / float64(n)
	variance := squares/float64(n) - m*m
	if variance < 0 { // NaN stays
		variance = 0
	}
	return float32(m), float32(1 / math.Sqrt(variance+eps))
}

func bindLayerNorm(b *Backend, c kernels.LayerNorm, a kernels.Args) kernels.Launch {
	y, x, gain, bias := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32(), a.In[2].F32()
	v, d, unit := b.across(a), len(gain), unitOf(c.UnitOffset)
	return b.layerNorm(a, v, d, func(n int) (m, r float32) {
		x := x[n*d:][:d]
		m, r = v.moments(x, c.Eps)
		v.layerRow(y[n*d:][:d], x, gain, bias, m, r, unit)
		return m, r
	})
}

func bindAddLayerNorm(b *Backend, c kernels.AddLayerNorm, a kernels.Args) kernels.Launch {
	y, z, x, past, gain, bias := a.Out[0].F32(), a.Out[1].F32(), a.In[0].F32(), a.In[1].F32(), a.In[2].F32(), a.In[3].F32()
	v, d, unit := b.across(a), len(gain), unitOf(c.UnitOffset)
	return b.layerNorm(a, v, d, func(n int) (m, r float32) {
		x, past := x[n*d:][:d], past[n*d:][:d]
		sum, squares := v.addSums(x, past)
		m, r = momentsFrom(sum, squares, d, c.Eps)
		v.layerAddRow(y[n*d:][:d], z[n*d:][:d], x, past, gain, bias, m, r, unit)
		return m, r
	})
}

// layerNorm binds a norm of runs of d elements: row treats one of them by v and returns its mean and 1/deviation.
func (b *Backend) layerNorm(a kernels.Args, v *vectors, d int, row func(n int) (mean, rstd float32)) kernels.Launch {
	mean, rstd := statistic(a.Aux, 0), statistic(a.Aux, 1)
	return b.run1(b.fenced(v, rowSpans(a.Out[0].Len()/d, d, 3*nsElem, func(lo, hi int) {
		for n := lo; n < hi; n++ {
			m, r := row(n)
			if mean != nil {
				mean[n], rstd[n] = m, r
			}
		}
	})))
}

type layerNormPlan struct {
	gain, bias rowSum
	rows       []float32 // one for each task, in which it begins rows of dx
}

func planLayerNormGrad(_ kernels.LayerNormGrad, a kernels.Args, s *scratch) (p layerNormPlan, err error) {
	d := a.In[1].Dim(0)
	p.gain = planRowSum(a.In[0].Len()/d, d, s)
	p.bias = planRowSum(a.In[0].Len()/d, d, s)
	p.rows = s.f32(p.gain.count * d)
	return p, nil
}

func bindLayerNormGrad(b *Backend, c kernels.LayerNormGrad, a kernels.Args, p layerNormPlan) kernels.Launch {
	return b.layerNormGrad(c, a, p, nil)
}

func planAddLayerNormGrad(c kernels.AddLayerNormGrad, a kernels.Args, s *scratch) (p layerNormPlan, err error) {
	return planLayerNormGrad(kernels.LayerNormGrad(c), a, s)
}

func bindAddLayerNormGrad(b *Backend, c kernels.AddLayerNormGrad, a kernels.Args, p layerNormPlan) kernels.Launch {
	return b.layerNormGrad(kernels.LayerNormGrad(c), a, p, a.In[4].F32())
}

// layerNormGrad binds the gradient; past, unless it is nil, is what came past the norm. It may be the memory of dx.
func (b *Backend) layerNormGrad(c kernels.LayerNormGrad, a kernels.Args, p layerNormPlan, past []float32) kernels.Launch {
	dx, x, gain, dy := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32(), a.In[3].F32()
	mean, rstd := statistic(a.Saved, 0), statistic(a.Saved, 1)
	d, per, unit := p.gain.width, p.gain.per, unitOf(c.UnitOffset)
	runs := len(x) / d
	of := b.across(a)
	rows := b.fenced(of, newLoop(p.gain.count, 5*nsElem*float64(per*d), func(t int) {
		dgain, dbias, v := p.gain.block(t), p.bias.block(t), p.rows[t*d:][:d]
		for n := t * per; n < min((t+1)*per, runs); n++ {
			x, dy := x[n*d:][:d], dy[n*d:][:d]
			var m, r float32
			if mean != nil {
				m, r = mean[n], rstd[n]
			} else {
				m, r = of.moments(x, c.Eps)
			}
			dx := dx[n*d:][:d]
			sum, sumH := of.layerGradRow(v, dgain, dbias, x, gain, dy, m, r, unit)
			mv, mh := float32(float64(sum)/float64(d)), float32(float64(sumH)/float64(d))
			if past == nil {
				of.layerGradEnd(dx, v, x, m, r, mv, mh)
			} else {
				of.layerGradAdd(dx, v, x, past[n*d:], m, r, mv, mh)
			}
		}
	}))
	finishGain, finishBias := p.gain.finish(a.Out[1].F32()), p.bias.finish(a.Out[2].F32())
	return func() error {
		b.pool.run(rows)
		b.pool.run(finishGain)
		b.pool.run(finishBias)
		return nil
	}
}
