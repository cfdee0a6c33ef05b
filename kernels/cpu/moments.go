package cpu

import (
	"math"

	"prenorm/kernels"
)

func init() { enter(planMoments, bindMoments) }

// momentsBlock is the number of products that are added in float32 before the sum goes on in float64.
const momentsBlock = 512

// momentsPlan holds what each span of elements comes to, and a block of memory for it.
type momentsPlan struct {
	sums   []float64 // x², y², x y and max |x| of each span
	mirror []float32 // -x of a block, by which the largest |x| is found
}

func planMoments(_ kernels.Moments, a kernels.Args, s *scratch) (p momentsPlan, err error) {
	n := blocks(a.In[0].Len(), spanSize)
	p.sums, p.mirror = s.f64(4*n), s.f32(momentsBlock*n)
	return p, nil
}

func bindMoments(b *Backend, _ kernels.Moments, a kernels.Args, p momentsPlan) kernels.Launch {
	m, x, y := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32()
	each := spans(len(x), 2*nsElem, func(lo, hi int) {
		t := lo / spanSize
		b.tier.momentsOf(p.sums[4*t:][:4], p.mirror[momentsBlock*t:][:momentsBlock], x[lo:hi], y[lo:hi])
	})
	return func() error {
		b.pool.run(each)
		var xx, yy, xy, top float64
		for t := 0; t < len(p.sums); t += 4 {
			xx, yy, xy, top = xx+p.sums[t], yy+p.sums[t+1], xy+p.sums[t+2], max(top, p.sums[t+3])
		}
		if math.IsNaN(xx) { // as one of x is, which a vector's maximum may pass over
			top = xx
		}
		m[0], m[1], m[2], m[3] = float32(xx), float32(yy), float32(xy), float32(top)
		return nil
	}
}

// momentsOf sets m to the sums of x², y² and x y, and to the largest |x|, NaN aside.
func (t *tier) momentsOf(m []float64, mirror, x, y []float32) {
	_, m[0] = t.sums(x)
	_, m[1] = t.sums(y)
	m[2], m[3] = 0, 0
	for len(x) > 0 {
		n := min(len(x), momentsBlock)
		t.multiply(mirror[:n], x[:n], -1)
		m[3] = max(m[3], float64(t.maximum(x[:n])), float64(t.maximum(mirror[:n])))
		t.dots(&mirror[0], &x[0], &y[0], n, n, 1, 0)
		m[2] += float64(mirror[0])
		x, y = x[n:], y[n:]
	}
}
