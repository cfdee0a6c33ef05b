package ref

import "prenorm/kernels"

func init() {
	define(definition[kernels.MatMul]{f32: bindMatMul[float32], f64: bindMatMul[float64]})
}

// matMul is C = op(A) op(B), plus the bias and the residual where they are not nil, or C += that. Element (i, l) of op(A) is a[i*ai+l*al], element (l, j) of op(B) is b[l*bl+j*bj].
func matMul[F float](c, a, b, bias, residual []F, m, n, k int, call kernels.MatMul) {
	ai, al := k, 1
	if call.TransA {
		ai, al = 1, m
	}
	bl, bj := n, 1
	if call.TransB {
		bl, bj = 1, k
	}
	for i := range m {
		for j := range n {
			sum := 0.0
			for l := range k {
				sum += float64(a[i*ai+l*al]) * float64(b[l*bl+j*bj])
			}
			if bias != nil {
				sum += float64(bias[j])
			}
			if residual != nil {
				sum += float64(residual[i*n+j])
			}
			if call.Accumulate {
				sum += float64(c[i*n+j])
			}
			c[i*n+j] = F(sum)
		}
	}
}

func bindMatMul[F float](call kernels.MatMul, v kernels.Args) kernels.Launch {
	c, a, b := of[F](v.Out[0]), of[F](v.In[0]), of[F](v.In[1])
	var bias, residual []F
	if call.Bias {
		bias = of[F](v.In[2])
	}
	if call.Residual {
		residual = of[F](v.In[len(v.In)-1])
	}
	m, n, k := call.Dims(v.In)
	return func() error {
		matMul(c, a, b, bias, residual, m, n, k, call)
		return nil
	}
}
