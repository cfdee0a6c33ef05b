package cpu

import "prenorm/kernels"

func init() {
	enterPlain(bindDyT)
	enter(planDyTGrad, bindDyTGrad)
}

func bindDyT(b *Backend, _ kernels.DyT, a kernels.Args) kernels.Launch {
	y, x, alpha, gain, bias := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32(), a.In[2].F32(), a.In[3].F32()
	d := len(gain)
	v := b.across(a)
	return b.run1(b.fenced(v, rowSpans(len(x)/d, d, nsExp, func(lo, hi int) {
		for n := lo; n < hi; n++ {
			v.dyt(y[n*d:][:d], x[n*d:][:d], gain, bias, alpha[0])
		}
	})))
}

// dytGo is y = gain tanh(alpha x) + bias.
func dytGo(y, x, gain, bias []float32, alpha float32) {
	gain, bias, y = gain[:len(x)], bias[:len(x)], y[:len(x)]
	for i, v := range x {
		y[i] = gain[i]*tanh32(alpha*v) + bias[i]
	}
}

type dytGradPlan struct {
	gain, bias rowSum
	slope      []float64 // per block, the sum for alpha
}

func planDyTGrad(_ kernels.DyTGrad, a kernels.Args, s *scratch) (p dytGradPlan, err error) {
	d := a.In[2].Dim(0)
	runs := a.In[0].Len() / d
	p.gain, p.bias = planRowSum(runs, d, s), planRowSum(runs, d, s)
	p.slope = s.f64(p.gain.count)
	return p, nil
}

func bindDyTGrad(b *Backend, _ kernels.DyTGrad, a kernels.Args, p dytGradPlan) kernels.Launch {
	dx, x, alpha, gain, dy := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32(), a.In[2].F32(), a.In[4].F32()
	d, per := p.gain.width, p.gain.per
	runs := len(x) / d
	v := b.across(a)
	rows := b.fenced(v, newLoop(p.gain.count, 2*nsExp*float64(per*d), func(t int) {
		dgain, dbias, sum := p.gain.block(t), p.bias.block(t), 0.0
		for n := t * per; n < min((t+1)*per, runs); n++ {
			sum += float64(v.dytGrad(dx[n*d:][:d], dgain, dbias, x[n*d:][:d], gain, dy[n*d:][:d], alpha[0]))
		}
		p.slope[t] = sum
	}))
	finishGain, finishBias, dalpha := p.gain.finish(a.Out[2].F32()), p.bias.finish(a.Out[3].F32()), a.Out[1].F32()
	return func() error {
		b.pool.run(rows)
		b.pool.run(finishGain)
		b.pool.run(finishBias)
		sum := 0.0
		for _, s := range p.slope {
			sum += s
		}
		dalpha[0] = float32(sum)
		return nil
	}
}

// dytGradGo is, with h = tanh(alpha x) and s = dy gain (1 - h²): dx = alpha s, dgain += dy h, dbias += dy, and the sum of s x.
func dytGradGo(dx, dgain, dbias, x, gain, dy []float32, alpha float32) float32 {
	dx, dgain, dbias, gain, dy = dx[:len(x)], dgain[:len(x)], dbias[:len(x)], gain[:len(x)], dy[:len(x)]
	sum := 0.0
	for i, v := range x {
		h := tanh32(alpha * v)
		s := dy[i] * gain[i] * ((1 - h) * (1 + h))
		dx[i] = alpha * s
		dgain[i] += dy[i] * h
		dbias[i] += dy[i]
		sum += float64(s) * float64(v)
	}
	return float32(sum)
}
