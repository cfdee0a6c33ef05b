package ref

import (
	"math"

	"prenorm/kernels"
)

func init() {
	statistics := func(a kernels.Args) int { return 2 * a.In[1].Len() }
	define(definition[kernels.BatchNorm]{f32: bindBatchNorm[float32], f64: bindBatchNorm[float64],
		workspace: func(_ kernels.BatchNorm, a kernels.Args) int { return statistics(a) }})
	define(definition[kernels.BatchNormGrad]{f32: bindBatchNormGrad[float32], f64: bindBatchNormGrad[float64],
		workspace: func(_ kernels.BatchNormGrad, a kernels.Args) int { return 2 * statistics(a) }})
	define(definition[kernels.BatchNormUpdate]{f32: bindBatchNormUpdate[float32], f64: bindBatchNormUpdate[float64],
		workspace: func(_ kernels.BatchNormUpdate, a kernels.Args) int { return a.In[0].Len() }})
	define(definition[kernels.BatchNormInference]{f32: bindBatchNormInference[float32], f64: bindBatchNormInference[float64]})
}

// batchMoments sets mean and variance, the biased one, of each element over the runs of x.
func batchMoments[F float](mean, variance []float64, x []F) {
	d := len(mean)
	runs := float64(len(x) / d)
	clear(mean)
	clear(variance)
	for i, v := range x {
		mean[i%d] += float64(v)
	}
	for j := range mean {
		mean[j] /= runs
	}
	for i, v := range x {
		variance[i%d] += (float64(v) - mean[i%d]) * (float64(v) - mean[i%d])
	}
	for j := range variance {
		variance[j] /= runs
	}
}

// batchStatistics sets mean and 1/sqrt(variance + eps), rounded to F.
func batchStatistics[F float](mean, rstd []float64, x []F, eps float64) {
	batchMoments(mean, rstd, x)
	for j := range mean {
		mean[j], rstd[j] = round[F](mean[j]), round[F](1/math.Sqrt(rstd[j]+eps))
	}
}

// batchNorm is y = (x - mean) rstd g + bias on runs of len(gain) elements.
func batchNorm[F float](y, x, gain, bias []F, mean, rstd []float64, unit float64) {
	d := len(gain)
	for i, v := range x {
		j := i % d
		y[i] = F((float64(v)-mean[j])*rstd[j]*(unit+float64(gain[j])) + float64(bias[j]))
	}
}

func bindBatchNorm[F float](c kernels.BatchNorm, v kernels.Args) kernels.Launch {
	y, x, gain, bias := of[F](v.Out[0]), of[F](v.In[0]), of[F](v.In[1]), of[F](v.In[2])
	s := scratch(v.Work, len(gain), len(gain))
	return func() error {
		batchStatistics(s[0], s[1], x, c.Eps)
		batchNorm(y, x, gain, bias, s[0], s[1], offset(c.UnitOffset))
		for k, aux := range v.Aux {
			for j, value := range s[k] {
				of[F](aux)[j] = F(value)
			}
		}
		return nil
	}
}

// batchNormGrad is, with h = (x - mean) rstd: dgain = sum dy h, dbias = sum dy, dx = rstd g (dy - dbias/R - h dgain/R).
func batchNormGrad[F float](dx, x, gain, dy []F, dgain, dbias, mean, rstd []float64, unit float64) {
	d := len(gain)
	runs := float64(len(x) / d)
	clear(dgain)
	clear(dbias)
	for i, v := range x {
		j := i % d
		dgain[j] += float64(dy[i]) * (float64(v) - mean[j]) * rstd[j]
		dbias[j] += float64(dy[i])
	}
	for i, v := range x {
		j := i % d
		h := (float64(v) - mean[j]) * rstd[j]
		dx[i] = F(rstd[j] * (unit + float64(gain[j])) * (float64(dy[i]) - dbias[j]/runs - h*dgain[j]/runs))
	}
}

func bindBatchNormGrad[F float](c kernels.BatchNormGrad, v kernels.Args) kernels.Launch {
	dx, x, gain, dy := of[F](v.Out[0]), of[F](v.In[0]), of[F](v.In[1]), of[F](v.In[3])
	d := len(gain)
	s := scratch(v.Work, d, d, d, d)
	return func() error {
		if len(v.Saved) > 0 {
			for j := range d {
				s[0][j], s[1][j] = float64(of[F](v.Saved[0])[j]), float64(of[F](v.Saved[1])[j])
			}
		} else {
			batchStatistics(s[0], s[1], x, c.Eps)
		}
		batchNormGrad(dx, x, gain, dy, s[2], s[3], s[0], s[1], offset(c.UnitOffset))
		for j := range d {
			of[F](v.Out[1])[j], of[F](v.Out[2])[j] = F(s[2][j]), F(s[3][j])
		}
		return nil
	}
}

func bindBatchNormUpdate[F float](c kernels.BatchNormUpdate, v kernels.Args) kernels.Launch {
	next, running, x, d := of[F](v.Out[0]), of[F](v.In[0]), of[F](v.In[1]), v.In[0].Dim(1)
	s := scratch(v.Work, d, d)
	return func() error {
		if len(x) == 0 {
			copy(next, running)
			return nil
		}
		batchMoments(s[0], s[1], x)
		for i, r := range running {
			next[i] = F(float64(r) + c.Momentum*(s[i/d][i%d]-float64(r)))
		}
		return nil
	}
}

func bindBatchNormInference[F float](c kernels.BatchNormInference, v kernels.Args) kernels.Launch {
	y, x, gain, bias, running := of[F](v.Out[0]), of[F](v.In[0]), of[F](v.In[1]), of[F](v.In[2]), of[F](v.In[3])
	d, unit := len(gain), offset(c.UnitOffset)
	return func() error {
		for i, value := range x {
			j := i % d
			rstd := round[F](1 / math.Sqrt(float64(running[d+j])+c.Eps))
			y[i] = F((float64(value)-float64(running[j]))*rstd*(unit+float64(gain[j])) + float64(bias[j]))
		}
		return nil
	}
}
