package ref

import "prenorm/kernels"

func init() {
	define(definition[kernels.Convert]{f32: bindConvert[float32], f64: bindConvert[float64]})
}

// bindConvert binds y = x. The change of type is that of [narrow], which every call with BF16 views goes through.
func bindConvert[F float](_ kernels.Convert, v kernels.Args) kernels.Launch {
	y, x := of[F](v.Out[0]), of[F](v.In[0])
	return func() error {
		copy(y, x)
		return nil
	}
}
