package ref

import "prenorm/kernels"

func init() {
	define(definition[kernels.Gate]{f32: bindGate[float32], f64: bindGate[float64]})
	define(definition[kernels.GateGrad]{
		f32: bindGateGrad[float32], f64: bindGateGrad[float64],
		workspace: func(_ kernels.GateGrad, a kernels.Args) int { return a.In[1].Len() },
	})
}

// gate is y = g x, with element i of x under g[i mod D]: D divides the rows' width.
func gate[F float](y, x, g []F) {
	for i := range y {
		y[i] = F(float64(g[i%len(g)]) * float64(x[i]))
	}
}

func bindGate[F float](_ kernels.Gate, v kernels.Args) kernels.Launch {
	y, x, g := of[F](v.Out[0]), of[F](v.In[0]), of[F](v.In[1])
	return func() error {
		gate(y, x, g)
		return nil
	}
}

func bindGateGrad[F float](_ kernels.GateGrad, v kernels.Args) kernels.Launch {
	dx, dg, x, g, dy := of[F](v.Out[0]), of[F](v.Out[1]), of[F](v.In[0]), of[F](v.In[1]), of[F](v.In[2])
	sums := scratch(v.Work, len(g))[0]
	return func() error {
		clear(sums)
		for i := range x {
			dx[i] = F(float64(g[i%len(g)]) * float64(dy[i]))
			sums[i%len(g)] += float64(x[i]) * float64(dy[i])
		}
		for i, s := range sums {
			dg[i] = F(s)
		}
		return nil
	}
}
