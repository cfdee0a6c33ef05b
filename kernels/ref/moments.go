package ref

import (
	"math"

	"prenorm/kernels"
)

func init() {
	define(definition[kernels.Moments]{f32: bindMoments[float32], f64: bindMoments[float64]})
}

// momentsOf is m = {x·x, y·y, x·y, max |x|}.
func momentsOf[F float](m, x, y []F) {
	top := 0.0
	for _, v := range x {
		top = math.Max(top, math.Abs(float64(v))) // NaN where one of them is
	}
	m[0], m[1], m[2], m[3] = F(dot(x, x)), F(dot(y, y)), F(dot(x, y)), F(top)
}

func bindMoments[F float](_ kernels.Moments, v kernels.Args) kernels.Launch {
	m, x, y := of[F](v.Out[0]), of[F](v.In[0]), of[F](v.In[1])
	return func() error {
		momentsOf(m, x, y)
		return nil
	}
}
