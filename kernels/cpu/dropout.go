package cpu

import (
	"math"

	"prenorm/kernels"
)

func init() { enterPlain(bindDropout) }

// bindDropout draws one Philox block for four elements, as [kernels.Uniform] defines them. A random number is u/2^24 with an integer u, so it
// is at least Rate exactly when u is at least the ceiling of Rate 2^24.
func bindDropout(b *Backend, c kernels.Dropout, a kernels.Args) kernels.Launch {
	y, x, counter := a.Out[0].F32(), a.In[0].F32(), a.In[1].I32()
	limit, scale := uint32(math.Ceil(c.Rate*(1<<24))), float32(1/(1-c.Rate))
	return b.run1(spans(len(y), nsScalar/4., func(lo, hi int) {
		key := [2]uint32{uint32(counter[0]), uint32(counter[1])}
		for i := lo; i < hi; i += 4 {
			random := kernels.Philox([4]uint32{uint32(i / 4), c.Site, uint32(counter[2]), uint32(counter[3])}, key)
			for j := i; j < min(i+4, hi); j++ {
				if random[j-i]>>8 >= limit {
					y[j] = x[j] * scale
				} else {
					y[j] = 0
				}
			}
		}
	}))
}
