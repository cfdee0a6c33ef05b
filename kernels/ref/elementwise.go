package ref

import (
	"fmt"
	"math"

	"prenorm/kernels"
)

func init() {
	define(definition[kernels.Add]{f32: bindAdd[float32], f64: bindAdd[float64]})
	define(definition[kernels.Scale]{f32: bindScale[float32], f64: bindScale[float64]})
	define(definition[kernels.GradScale]{f32: bindGradScale[float32], f64: bindGradScale[float64]})
	define(definition[kernels.Softcap]{f32: bindSoftcap[float32], f64: bindSoftcap[float64], check: checkSoftcap})
}

// add is z = x + y; z may be x or y.
func add[F float](z, x, y []F) {
	for i := range z {
		z[i] = F(float64(x[i]) + float64(y[i]))
	}
}

func bindAdd[F float](_ kernels.Add, v kernels.Args) kernels.Launch {
	z, x, y := of[F](v.Out[0]), of[F](v.In[0]), of[F](v.In[1])
	return func() error {
		add(z, x, y)
		return nil
	}
}

// scale is y = factor x; y may be x.
func scale[F float](y, x []F, factor float64) {
	for i := range y {
		y[i] = F(factor * float64(x[i]))
	}
}

func bindScale[F float](c kernels.Scale, v kernels.Args) kernels.Launch {
	y, x := of[F](v.Out[0]), of[F](v.In[0])
	return func() error {
		scale(y, x, c.Factor)
		return nil
	}
}

// bindGradScale is y = x: the factor is for the gradient, see package model/op.
func bindGradScale[F float](_ kernels.GradScale, v kernels.Args) kernels.Launch {
	y, x := of[F](v.Out[0]), of[F](v.In[0])
	return func() error {
		copy(y, x)
		return nil
	}
}

func checkSoftcap(c kernels.Softcap) error {
	if !(c.Cap > 0) {
		return fmt.Errorf("softcap: cap %g must be above 0", c.Cap)
	}
	return nil
}

// softcap is y = limit tanh(x / limit); y may be x.
func softcap[F float](y, x []F, limit float64) {
	for i := range y {
		y[i] = F(capped(float64(x[i]), limit))
	}
}

// capped is limit tanh(x / limit), or x when there is no limit.
func capped(x, limit float64) float64 {
	if limit <= 0 {
		return x
	}
	return limit * math.Tanh(x/limit)
}

// cappedSlope is the derivative of capped by its argument, where y is its result.
func cappedSlope(y, limit float64) float64 {
	if limit <= 0 {
		return 1
	}
	return 1 - (y/limit)*(y/limit)
}

func bindSoftcap[F float](c kernels.Softcap, v kernels.Args) kernels.Launch {
	y, x := of[F](v.Out[0]), of[F](v.In[0])
	return func() error {
		softcap(y, x, c.Cap)
		return nil
	}
}
