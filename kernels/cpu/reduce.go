package cpu

import (
	"math"

	"prenorm/kernels"
)

func init() {
	enter(planSumRows, bindSumRows)
	enter(planGlobalNorm, bindGlobalNorm)
	enterPlain(bindClipFactor)
}

// rowSum adds rows into one: each of a fixed number of blocks of rows sums its own in float32 into a row of partial sums, and these are
// then added in float64, in their order.
type rowSum struct {
	width, per, count int // floats a row, rows a block, blocks
	partial           []float32
}

// Bounds on the blocks of a sum of rows: more than mostBlocks give no core more to do, and adding the sums of less than fewRows takes longer than
// summing them.
const (
	mostBlocks = 128
	fewRows    = 16
)

func planRowSum(rows, width int, s *scratch) rowSum {
	p := rowSum{width: width, per: max(fewRows, blocks(rows, mostBlocks), blocks(2048, max(width, 1)))}
	p.count = blocks(rows, p.per)
	p.partial = s.f32(p.count * width)
	return p
}

// block returns block t's partial sums, cleared.
func (p rowSum) block(t int) []float32 {
	x := p.partial[t*p.width:][:p.width]
	clear(x)
	return x
}

// finish is the loop that adds the partial sums into out.
func (p rowSum) finish(out []float32) *loop {
	const stripe = 64
	return newLoop(blocks(p.width, stripe), float64(p.count*stripe), func(t int) {
		for j := t * stripe; j < min((t+1)*stripe, p.width); j++ {
			var s float64
			for i := range p.count {
				s += float64(p.partial[i*p.width+j])
			}
			out[j] = float32(s)
		}
	})
}

func planSumRows(_ kernels.SumRows, a kernels.Args, s *scratch) (rowSum, error) {
	return planRowSum(a.In[0].Dim(0), a.In[0].Dim(1), s), nil
}

func bindSumRows(b *Backend, _ kernels.SumRows, a kernels.Args, p rowSum) kernels.Launch {
	x, rows, w := a.In[0].F32(), a.In[0].Dim(0), p.width
	sum := newLoop(p.count, nsElem*float64(p.per*w), func(t int) {
		part := p.block(t)
		for r := t * p.per; r < min((t+1)*p.per, rows); r++ {
			b.tier.addTo(part, x[r*w:][:w])
		}
	})
	finish := p.finish(a.Out[0].F32())
	return func() error {
		b.pool.run(sum)
		b.pool.run(finish)
		return nil
	}
}

func planGlobalNorm(_ kernels.GlobalNorm, a kernels.Args, s *scratch) ([]float64, error) {
	return s.f64(blocks(a.In[0].Len(), spanSize)), nil
}

func bindGlobalNorm(b *Backend, _ kernels.GlobalNorm, a kernels.Args, partial []float64) kernels.Launch {
	x, norm := a.In[0].F32(), a.Out[0].F32()
	of := b.across(a)
	squares := spans(len(x), nsElem, func(lo, hi int) { _, partial[lo/spanSize] = of.sums(x[lo:hi]) })
	return func() error {
		b.pool.run(squares)
		var s float64
		for _, v := range partial {
			s += v
		}
		norm[0] = float32(math.Sqrt(s))
		return nil
	}
}

func bindClipFactor(_ *Backend, c kernels.ClipFactor, a kernels.Args) kernels.Launch {
	norm, loss, limits, factor := a.In[0].F32(), a.In[1].F32(), a.In[2].F32(), a.Out[0].F32()
	return func() error {
		factor[0] = clipFactor(c.Max, float64(norm[0]))
		if l := loss[0]; l-l != 0 || l > limits[0] || norm[0] > limits[1] {
			factor[0] = float32(math.NaN())
		}
		return nil
	}
}

// clipFactor hands on a norm that is not finite, even when nothing is clipped.
func clipFactor(limit, norm float64) float32 {
	switch {
	case math.IsNaN(norm) || math.IsInf(norm, 0):
		return float32(math.NaN())
	case limit == 0:
		return 1
	}
	return float32(min(1, limit/(norm+1e-6)))
}
