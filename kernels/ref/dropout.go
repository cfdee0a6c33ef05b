package ref

import "prenorm/kernels"

func init() {
	define(definition[kernels.Dropout]{f32: bindDropout[float32], f64: bindDropout[float64]})
}

// dropout is y = x/(1-rate) where the element's random number is at least rate, else 0; y may be x.
func dropout[F float](y, x []F, counter [4]int32, c kernels.Dropout) {
	for i := range y {
		if float64(kernels.Uniform(counter, c.Site, i)) >= c.Rate {
			y[i] = F(float64(x[i]) * (1 / (1 - c.Rate)))
		} else {
			y[i] = 0
		}
	}
}

func bindDropout[F float](c kernels.Dropout, v kernels.Args) kernels.Launch {
	y, x, counter := of[F](v.Out[0]), of[F](v.In[0]), v.In[1].I32()
	return func() error {
		dropout(y, x, [4]int32(counter), c)
		return nil
	}
}
