package cpu

import (
	"math"

	"prenorm/kernels"
)

func init() {
	enterPlain(bindAdamW)
	enterPlain(bindSGD)
}

func bindAdamW(b *Backend, c kernels.AdamW, a kernels.Args) kernels.Launch {
	p, m, v, g, hyper := a.In[0].F32(), a.In[1].F32(), a.In[2].F32(), a.In[3].F32(), a.In[4].F32()
	newP, newM, newV := a.Out[0].F32(), a.Out[1].F32(), a.Out[2].F32()
	beta1, beta2, eps := float32(c.Beta1), float32(c.Beta2), float32(c.Eps)
	rest1, rest2 := float32(1-c.Beta1), float32(1-c.Beta2)
	return b.run1(spans(len(p), 3*nsElem, func(lo, hi int) {
		p, m, v, g := p[lo:hi], m[lo:hi], v[lo:hi], g[lo:hi]
		newP, newM, newV := newP[lo:hi], newM[lo:hi], newV[lo:hi]
		rate, clip := hyper[0], hyper[3]
		if clip != clip { // the gradient was not finite
			copy(newP, p)
			copy(newM, m)
			copy(newV, v)
			return
		}
		step := rate / hyper[1]
		root := float32(1 / math.Sqrt(float64(hyper[2])))
		keep := float32(1 - float64(rate)*c.WeightDecay)
		b.tier.adamw(newP, newM, newV, p, m, v, g, beta1, rest1, beta2, rest2, clip, keep, step, root, eps)
	}))
}

func bindSGD(b *Backend, c kernels.SGD, a kernels.Args) kernels.Launch {
	p, m, g, hyper := a.In[0].F32(), a.In[1].F32(), a.In[2].F32(), a.In[3].F32()
	newP, newM := a.Out[0].F32(), a.Out[1].F32()
	momentum := float32(c.Momentum)
	return b.run1(spans(len(p), nsElem, func(lo, hi int) {
		p, m, g := p[lo:hi], m[lo:hi], g[lo:hi]
		newP, newM := newP[lo:hi], newM[lo:hi]
		rate, clip := hyper[0], hyper[3]
		if clip != clip { // the gradient was not finite
			copy(newP, p)
			copy(newM, m)
			return
		}
		keep := float32(1 - float64(rate)*c.WeightDecay)
		for i, gi := range g {
			mi := momentum*m[i] + clip*gi
			newM[i] = mi
			newP[i] = p[i]*keep - rate*mi
		}
	}))
}
