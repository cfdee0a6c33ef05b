package ref

import (
	"math"

	"prenorm/kernels"
)

func init() {
	define(definition[kernels.DyT]{f32: bindDyT[float32], f64: bindDyT[float64]})
	define(definition[kernels.DyTGrad]{
		f32: bindDyTGrad[float32], f64: bindDyTGrad[float64],
		workspace: func(_ kernels.DyTGrad, a kernels.Args) int { return 2 * a.In[2].Len() },
	})
}

// dyt is y = gain tanh(alpha x) + bias on each run of len(gain) elements.
func dyt[F float](y, x []F, alpha F, gain, bias []F) {
	d := len(gain)
	for i := range y {
		y[i] = F(float64(gain[i%d])*math.Tanh(float64(alpha)*float64(x[i])) + float64(bias[i%d]))
	}
}

func bindDyT[F float](_ kernels.DyT, v kernels.Args) kernels.Launch {
	y, x, alpha, gain, bias := of[F](v.Out[0]), of[F](v.In[0]), of[F](v.In[1]), of[F](v.In[2]), of[F](v.In[3])
	return func() error {
		dyt(y, x, alpha[0], gain, bias)
		return nil
	}
}

// dytGrad is, with h = tanh(alpha x) and s = dy gain (1 - h²): dx = alpha s, and the sums s x over everything, dy h and dy over the runs.
func dytGrad[F float](dx, x []F, alpha F, gain, dy []F, dgain, dbias []float64) (dalpha float64) {
	a, d := float64(alpha), len(gain)
	for i := range x {
		h := math.Tanh(a * float64(x[i]))
		s := float64(dy[i]) * float64(gain[i%d]) * (1 - h*h)
		dx[i] = F(a * s)
		dalpha += s * float64(x[i])
		dgain[i%d] += float64(dy[i]) * h
		dbias[i%d] += float64(dy[i])
	}
	return dalpha
}

func bindDyTGrad[F float](_ kernels.DyTGrad, v kernels.Args) kernels.Launch {
	dx, dalpha, dgain, dbias := of[F](v.Out[0]), of[F](v.Out[1]), of[F](v.Out[2]), of[F](v.Out[3])
	x, alpha, gain, dy := of[F](v.In[0]), of[F](v.In[1]), of[F](v.In[2]), of[F](v.In[4])
	sums := scratch(v.Work, len(gain), len(gain))
	return func() error {
		clear(sums[0])
		clear(sums[1])
		dalpha[0] = F(dytGrad(dx, x, alpha[0], gain, dy, sums[0], sums[1]))
		for i := range gain {
			dgain[i], dbias[i] = F(sums[0][i]), F(sums[1][i])
		}
		return nil
	}
}
