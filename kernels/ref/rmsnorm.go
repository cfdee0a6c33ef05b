package ref

import (
	"math"

	"prenorm/kernels"
)

func init() {
	define(definition[kernels.RMSNorm]{f32: bindRMSNorm[float32], f64: bindRMSNorm[float64]})
	define(definition[kernels.RMSNormGrad]{
		f32: bindRMSNormGrad[float32], f64: bindRMSNormGrad[float64],
		workspace: func(_ kernels.RMSNormGrad, a kernels.Args) int { return runs(a) },
	})
}

// runs is the number of rows that a norm treats: runs of D = len(gain) elements, x being input 0 and the gain input 1.
func runs(a kernels.Args) int { return a.In[0].Len() / a.In[1].Len() }

// offset is what a norm adds to its stored gain.
func offset(unit bool) float64 {
	if unit {
		return 1
	}
	return 0
}

// reciprocalRMS is 1/sqrt(mean(x²) + eps), rounded to F.
func reciprocalRMS[F float](x []F, eps float64) float64 {
	return round[F](1 / math.Sqrt(dot(x, x)/float64(len(x))+eps))
}

// rmsNorm is y = x rstd g on each run of len(gain) elements. rstd, where it is not nil, receives the statistic.
func rmsNorm[F float](y, x, gain, rstd []F, c kernels.RMSNorm) {
	d, unit := len(gain), offset(c.UnitOffset)
	for n := range len(x) / d {
		xn, yn := row(x, n, d), row(y, n, d)
		r := reciprocalRMS(xn, c.Eps)
		for i := range xn {
			yn[i] = F(float64(xn[i]) * r * (unit + float64(gain[i])))
		}
		if rstd != nil {
			rstd[n] = F(r)
		}
	}
}

func bindRMSNorm[F float](c kernels.RMSNorm, v kernels.Args) kernels.Launch {
	y, x, gain := of[F](v.Out[0]), of[F](v.In[0]), of[F](v.In[1])
	var rstd []F
	if len(v.Aux) > 0 {
		rstd = of[F](v.Aux[0])
	}
	return func() error {
		rmsNorm(y, x, gain, rstd, c)
		return nil
	}
}

// rmsNormGrad is dx = rstd (g dy - x rstd² mean(g dy x)) on each run, and dgain = the sum over runs of dy x rstd.
func rmsNormGrad[F float](dx, dgain, x, gain, dy []F, rstd []float64, unitOffset bool) {
	d, unit := len(gain), offset(unitOffset)
	for n, r := range rstd {
		xn, dyn, dxn := row(x, n, d), row(dy, n, d), row(dx, n, d)
		mean := 0.0
		for i := range xn {
			mean += (unit + float64(gain[i])) * float64(dyn[i]) * float64(xn[i])
		}
		mean /= float64(d)
		for i := range xn {
			g := unit + float64(gain[i])
			dxn[i] = F(r * (g*float64(dyn[i]) - float64(xn[i])*r*r*mean))
		}
	}
	for i := range dgain {
		sum := 0.0
		for n, r := range rstd {
			sum += float64(dy[n*d+i]) * float64(x[n*d+i]) * r
		}
		dgain[i] = F(sum)
	}
}

func bindRMSNormGrad[F float](c kernels.RMSNormGrad, v kernels.Args) kernels.Launch {
	dx, dgain := of[F](v.Out[0]), of[F](v.Out[1])
	x, gain, dy := of[F](v.In[0]), of[F](v.In[1]), of[F](v.In[2])
	rstd := scratch(v.Work, runs(v))[0]
	var saved []F
	if len(v.Saved) > 0 {
		saved = of[F](v.Saved[0])
	}
	return func() error {
		for n := range rstd {
			if saved != nil {
				rstd[n] = float64(saved[n])
			} else {
				rstd[n] = reciprocalRMS(row(x, n, len(gain)), c.Eps)
			}
		}
		rmsNormGrad(dx, dgain, x, gain, dy, rstd, c.UnitOffset)
		return nil
	}
}
