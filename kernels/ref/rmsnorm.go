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
	define(definition[kernels.AddRMSNorm]{f32: bindAddRMSNorm[float32], f64: bindAddRMSNorm[float64]})
	define(definition[kernels.AddRMSNormGrad]{
		f32: bindAddRMSNormGrad[float32], f64: bindAddRMSNormGrad[float64],
		workspace: func(_ kernels.AddRMSNormGrad, a kernels.Args) int { return runs(a) },
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

// bindAddRMSNorm binds z = x + r and the norm of z.
func bindAddRMSNorm[F float](c kernels.AddRMSNorm, v kernels.Args) kernels.Launch {
	z, x, r := of[F](v.Out[1]), of[F](v.In[0]), of[F](v.In[1])
	norm := bindRMSNorm[F](kernels.RMSNorm(c), kernels.Args{Out: v.Out[:1], Aux: v.Aux, In: []kernels.View{v.Out[1], v.In[2]}})
	return func() error {
		add(z, x, r)
		return norm()
	}
}

// rmsNormGrad is dx = rstd (g dy - x rstd² mean(g dy x)) on each run, plus past where it is not nil, and dgain = the sum over runs of
// dy x rstd. dx may be past.
func rmsNormGrad[F float](dx, dgain, x, gain, dy, past []F, rstd []float64, unitOffset bool) {
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
			dxn[i] = F(r*(g*float64(dyn[i])-float64(xn[i])*r*r*mean) + at(past, n*d+i))
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

// at is x[i], or 0 where there is no x.
func at[F float](x []F, i int) float64 {
	if x == nil {
		return 0
	}
	return float64(x[i])
}

func bindRMSNormGrad[F float](c kernels.RMSNormGrad, v kernels.Args) kernels.Launch {
	return bindAddRMSNormGrad[F](kernels.AddRMSNormGrad(c), v)
}

func bindAddRMSNormGrad[F float](c kernels.AddRMSNormGrad, v kernels.Args) kernels.Launch {
	dx, dgain := of[F](v.Out[0]), of[F](v.Out[1])
	x, gain, dy := of[F](v.In[0]), of[F](v.In[1]), of[F](v.In[2])
	var past []F
	if len(v.In) > 3 {
		past = of[F](v.In[3])
	}
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
		rmsNormGrad(dx, dgain, x, gain, dy, past, rstd, c.UnitOffset)
		return nil
	}
}
