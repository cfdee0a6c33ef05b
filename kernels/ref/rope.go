package ref

import "prenorm/kernels"

func init() {
	define(definition[kernels.Rope]{f32: bindRope[float32], f64: bindRope[float64]})
}

// rope rotates the pair (x[j], x[D/2+j]) of each head by the angle whose cosine and sine are table[p, j] and table[p, D/2+j], or back by
// it with inverse; y may be x.
func rope[F float](y, x []F, positions []int32, table []F, width, d int, inverse bool) {
	for n, p := range positions {
		angles := row(table, int(p), d)
		for first := n * width; first < (n+1)*width; first += d {
			for j := range d / 2 {
				c, s := float64(angles[j]), float64(angles[d/2+j])
				if inverse {
					s = -s
				}
				a, b := float64(x[first+j]), float64(x[first+d/2+j])
				y[first+j] = F(a*c - b*s)
				y[first+d/2+j] = F(b*c + a*s)
			}
		}
	}
}

func bindRope[F float](c kernels.Rope, v kernels.Args) kernels.Launch {
	y, x, positions, table := of[F](v.Out[0]), of[F](v.In[0]), v.In[1].I32(), of[F](v.In[2])
	width, limit, d := v.In[0].Dim(1), v.In[2].Dim(0), v.In[2].Dim(1)
	return func() error {
		if err := inRange(c.Kernel(), "position", positions, limit); err != nil {
			return err
		}
		rope(y, x, positions, table, width, d, c.Inverse)
		return nil
	}
}
