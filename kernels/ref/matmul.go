package ref

import "prenorm/kernels"

func init() {
	define(definition[kernels.MatMul]{f32: bindMatMul[float32], f64: bindMatMul[float64]})
}

// matMul is C = op(A) op(B), or C += op(A) op(B). Element (i, l) of op(A) is a[i*ai+l*al], element (l, j) of op(B) is b[l*bl+j*bj].
func matMul[F float](c, a, b []F, m, n, k int, call kernels.MatMul) {
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
			if call.Accumulate {
				sum += float64(c[i*n+j])
			}
			c[i*n+j] = F(sum)
		}
	}
}

func bindMatMul[F float](call kernels.MatMul, v kernels.Args) kernels.Launch {
	c, a, b := of[F](v.Out[0]), of[F](v.In[0]), of[F](v.In[1])
	m, n, k := call.Dims(v.In)
	return func() error {
		matMul(c, a, b, m, n, k, call)
		return nil
	}
}
