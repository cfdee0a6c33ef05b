package ref

import (
	"math"

	"prenorm/kernels"
)

func init() {
	define(definition[kernels.LayerNorm]{f32: bindLayerNorm[float32], f64: bindLayerNorm[float64]})
	define(definition[kernels.LayerNormGrad]{
		f32: bindLayerNormGrad[float32], f64: bindLayerNormGrad[float64],
		workspace: func(_ kernels.LayerNormGrad, a kernels.Args) int { return 2 * runs(a) },
	})
	define(definition[kernels.AddLayerNorm]{f32: bindAddLayerNorm[float32], f64: bindAddLayerNorm[float64]})
	define(definition[kernels.AddLayerNormGrad]{
		f32: bindAddLayerNormGrad[float32], f64: bindAddLayerNormGrad[float64],
		workspace: func(_ kernels.AddLayerNormGrad, a kernels.Args) int { return 2 * runs(a) },
	})
}

// moments are the mean of x and 1/sqrt(its biased variance + eps), both rounded to F. The variance is taken about the unrounded mean.
func moments[F float](x []F, eps float64) (mean, rstd float64) {
	for i := range x {
		mean += float64(x[i])
	}
	mean /= float64(len(x))
	variance := 0.0
	for i := range x {
		variance += (float64(x[i]) - mean) * (float64(x[i]) - mean)
	}
	variance /= float64(len(x))
	return round[F](mean), round[F](1 / math.Sqrt(variance+eps))
}

// layerNorm is y = (x - mean) rstd g + bias on each run of len(gain) elements. mean and rstd, where they are not nil, receive the
// statistics.
func layerNorm[F float](y, x, gain, bias, mean, rstd []F, c kernels.LayerNorm) {
	d, unit := len(gain), offset(c.UnitOffset)
	for n := range len(x) / d {
		xn, yn := row(x, n, d), row(y, n, d)
		m, r := moments(xn, c.Eps)
		for i := range xn {
			yn[i] = F((float64(xn[i])-m)*r*(unit+float64(gain[i])) + float64(bias[i]))
		}
		if mean != nil {
			mean[n], rstd[n] = F(m), F(r)
		}
	}
}

func bindLayerNorm[F float](c kernels.LayerNorm, v kernels.Args) kernels.Launch {
	y, x, gain, bias := of[F](v.Out[0]), of[F](v.In[0]), of[F](v.In[1]), of[F](v.In[2])
	var mean, rstd []F
	if len(v.Aux) > 0 {
		mean, rstd = of[F](v.Aux[0]), of[F](v.Aux[1])
	}
	return func() error {
		layerNorm(y, x, gain, bias, mean, rstd, c)
		return nil
	}
}

// bindAddLayerNorm binds z = x + r and the norm of z.
func bindAddLayerNorm[F float](c kernels.AddLayerNorm, v kernels.Args) kernels.Launch {
	z, x, r := of[F](v.Out[1]), of[F](v.In[0]), of[F](v.In[1])
	norm := bindLayerNorm[F](kernels.LayerNorm(c), kernels.Args{Out: v.Out[:1], Aux: v.Aux, In: []kernels.View{v.Out[1], v.In[2], v.In[3]}})
	return func() error {
		add(z, x, r)
		return norm()
	}
}

// layerNormGrad is, with h = (x - mean) rstd: dx = rstd (g dy - mean(g dy) - h mean(g dy h)) on each run, plus past where it is not nil, and over
// the runs dgain = the sum of dy h and dbias = the sum of dy. dx may be past.
func layerNormGrad[F float](dx, dgain, dbias, x, gain, dy, past []F, mean, rstd []float64, unitOffset bool) {
	d, unit := len(gain), offset(unitOffset)
	for n, r := range rstd {
		xn, dyn, dxn := row(x, n, d), row(dy, n, d), row(dx, n, d)
		meanG, meanGH := 0.0, 0.0
		for i := range xn {
			g := (unit + float64(gain[i])) * float64(dyn[i])
			meanG += g
			meanGH += g * (float64(xn[i]) - mean[n]) * r
		}
		meanG /= float64(d)
		meanGH /= float64(d)
		for i := range xn {
			g := (unit + float64(gain[i])) * float64(dyn[i])
			h := (float64(xn[i]) - mean[n]) * r
			dxn[i] = F(r*(g-meanG-h*meanGH) + at(past, n*d+i))
		}
	}
	for i := range dgain {
		sumH, sum := 0.0, 0.0
		for n, r := range rstd {
			sumH += float64(dy[n*d+i]) * (float64(x[n*d+i]) - mean[n]) * r
			sum += float64(dy[n*d+i])
		}
		dgain[i], dbias[i] = F(sumH), F(sum)
	}
}

func bindLayerNormGrad[F float](c kernels.LayerNormGrad, v kernels.Args) kernels.Launch {
	return bindAddLayerNormGrad[F](kernels.AddLayerNormGrad(c), v)
}

func bindAddLayerNormGrad[F float](c kernels.AddLayerNormGrad, v kernels.Args) kernels.Launch {
	dx, dgain, dbias := of[F](v.Out[0]), of[F](v.Out[1]), of[F](v.Out[2])
	x, gain, dy := of[F](v.In[0]), of[F](v.In[1]), of[F](v.In[3])
	var past []F
	if len(v.In) > 4 {
		past = of[F](v.In[4])
	}
	parts := scratch(v.Work, runs(v), runs(v))
	mean, rstd := parts[0], parts[1]
	var savedMean, savedRstd []F
	if len(v.Saved) > 0 {
		savedMean, savedRstd = of[F](v.Saved[0]), of[F](v.Saved[1])
	}
	return func() error {
		for n := range rstd {
			if savedMean != nil {
				mean[n], rstd[n] = float64(savedMean[n]), float64(savedRstd[n])
			} else {
				mean[n], rstd[n] = moments(row(x, n, len(gain)), c.Eps)
			}
		}
		layerNormGrad(dx, dgain, dbias, x, gain, dy, past, mean, rstd, c.UnitOffset)
		return nil
	}
}
