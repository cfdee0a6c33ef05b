package ref

import "prenorm/kernels"

func init() {
	define(definition[kernels.AddBias]{f32: bindAddBias[float32], f64: bindAddBias[float64]})
	define(definition[kernels.SumRows]{f32: bindSumRows[float32], f64: bindSumRows[float64]})
}

// addBias is y[i] = x[i] + b on every row.
func addBias[F float](y, x, b []F) {
	for i := range y {
		y[i] = F(float64(x[i]) + float64(b[i%len(b)]))
	}
}

func bindAddBias[F float](_ kernels.AddBias, v kernels.Args) kernels.Launch {
	y, x, b := of[F](v.Out[0]), of[F](v.In[0]), of[F](v.In[1])
	return func() error {
		addBias(y, x, b)
		return nil
	}
}

// sumRows is s[c] = the sum over rows n of x[n, c].
func sumRows[F float](s, x []F) {
	for c := range s {
		sum := 0.0
		for i := c; i < len(x); i += len(s) {
			sum += float64(x[i])
		}
		s[c] = F(sum)
	}
}

func bindSumRows[F float](_ kernels.SumRows, v kernels.Args) kernels.Launch {
	s, x := of[F](v.Out[0]), of[F](v.In[0])
	return func() error {
		sumRows(s, x)
		return nil
	}
}
