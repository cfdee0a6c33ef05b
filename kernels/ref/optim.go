package ref

import (
	"math"

	"prenorm/kernels"
)

func init() {
	define(definition[kernels.GlobalNorm]{f32: bindGlobalNorm[float32], f64: bindGlobalNorm[float64]})
	define(definition[kernels.ClipFactor]{f32: bindClipFactor[float32], f64: bindClipFactor[float64]})
	define(definition[kernels.AdamW]{f32: bindAdamW[float32], f64: bindAdamW[float64]})
	define(definition[kernels.SGD]{f32: bindSGD[float32], f64: bindSGD[float64]})
}

func bindGlobalNorm[F float](_ kernels.GlobalNorm, v kernels.Args) kernels.Launch {
	norm, g := of[F](v.Out[0]), of[F](v.In[0])
	return func() error {
		norm[0] = F(math.Sqrt(dot(g, g)))
		return nil
	}
}

// clipFactor is min(1, limit/(norm + 1e-6)), 1 without a limit, and not a number when the norm is not finite.
func clipFactor(norm, limit float64) float64 {
	switch {
	case math.IsNaN(norm) || math.IsInf(norm, 0):
		return math.NaN()
	case limit == 0:
		return 1
	}
	return math.Min(1, limit/(norm+1e-6))
}

func bindClipFactor[F float](c kernels.ClipFactor, v kernels.Args) kernels.Launch {
	factor, norm, loss, limits := of[F](v.Out[0]), of[F](v.In[0]), of[F](v.In[1]), of[F](v.In[2])
	return func() error {
		factor[0] = F(clipFactor(float64(norm[0]), c.Max))
		if l := float64(loss[0]); math.IsNaN(l) || math.IsInf(l, 0) || loss[0] > limits[0] || norm[0] > limits[1] {
			factor[0] = F(math.NaN())
		}
		return nil
	}
}

// hyper are the numbers of one optimizer step.
type hyper struct{ rate, correct1, correct2, clip float64 }

func hyperOf[F float](h []F) hyper {
	return hyper{float64(h[0]), float64(h[1]), float64(h[2]), float64(h[3])}
}

// adamW is one step of AdamW from p, m, v to the outputs, which may be the same memory.
func adamW[F float](outP, outM, outV, p, m, v, g []F, c kernels.AdamW, h hyper) {
	for i := range outP {
		grad := h.clip * float64(g[i])
		m1 := c.Beta1*float64(m[i]) + (1-c.Beta1)*grad
		v1 := c.Beta2*float64(v[i]) + (1-c.Beta2)*grad*grad
		step := h.rate * (m1 / h.correct1) / (math.Sqrt(v1/h.correct2) + c.Eps)
		outP[i] = F(float64(p[i])*(1-h.rate*c.WeightDecay) - step)
		outM[i], outV[i] = F(m1), F(v1)
	}
}

func bindAdamW[F float](c kernels.AdamW, a kernels.Args) kernels.Launch {
	outP, outM, outV := of[F](a.Out[0]), of[F](a.Out[1]), of[F](a.Out[2])
	p, m, v, g, h := of[F](a.In[0]), of[F](a.In[1]), of[F](a.In[2]), of[F](a.In[3]), of[F](a.In[4])
	return func() error {
		if math.IsNaN(float64(h[3])) {
			copy(outP, p)
			copy(outM, m)
			copy(outV, v)
			return nil
		}
		adamW(outP, outM, outV, p, m, v, g, c, hyperOf(h))
		return nil
	}
}

// sgd is one step of SGD with momentum from p, m to the outputs, which may be the same memory.
func sgd[F float](outP, outM, p, m, g []F, c kernels.SGD, h hyper) {
	for i := range outP {
		m1 := c.Momentum*float64(m[i]) + h.clip*float64(g[i])
		outP[i] = F(float64(p[i])*(1-h.rate*c.WeightDecay) - h.rate*m1)
		outM[i] = F(m1)
	}
}

func bindSGD[F float](c kernels.SGD, a kernels.Args) kernels.Launch {
	outP, outM := of[F](a.Out[0]), of[F](a.Out[1])
	p, m, g, h := of[F](a.In[0]), of[F](a.In[1]), of[F](a.In[2]), of[F](a.In[3])
	return func() error {
		if math.IsNaN(float64(h[3])) {
			copy(outP, p)
			copy(outM, m)
			return nil
		}
		sgd(outP, outM, p, m, g, c, hyperOf(h))
		return nil
	}
}
