package cpu

import (
	"math"

	"prenorm/kernels"
)

func init() { enterPlain(bindDropout) }

// draw is what the random numbers of a dropout site have in common, and what is done with them. Assembly knows where its fields lie.
type draw struct {
	keys    [10][2]uint32 // of the rounds of Philox
	counter [4]uint32     // all but the first word
	below   int32         // the largest number that is dropped, of 24 bits; -1 for none
	scale   float32       // of elements that are kept
}

// dropoutFunc is y = scale x for each element whose random number is above d.below, and 0 for others. x begins with the given Philox block
// and y may be x.
type dropoutFunc func(y, x []float32, block uint32, d *draw)

// newDraw takes a random number for u/2^24 with an integer u, so that it is at least Rate exactly when u is at least the ceiling of Rate 2^24.
func newDraw(c kernels.Dropout, counter []int32) draw {
	d := draw{
		counter: [4]uint32{0, c.Site, uint32(counter[2]), uint32(counter[3])},
		below:   int32(math.Ceil(c.Rate*(1<<24))) - 1,
		scale:   float32(1 / (1 - c.Rate)),
	}
	key := [2]uint32{uint32(counter[0]), uint32(counter[1])}
	for i := range d.keys {
		d.keys[i] = kernels.PhiloxKey(key, i)
	}
	return d
}

// bindDropout draws one Philox block for four elements, as [kernels.Uniform] defines them.
func bindDropout(b *Backend, c kernels.Dropout, a kernels.Args) kernels.Launch {
	y, x, counter := a.Out[0].F32(), a.In[0].F32(), a.In[1].I32()
	v := b.across(a)
	var d draw
	rows := b.fenced(v, spans(len(y), nsExp, func(lo, hi int) { v.dropout(y[lo:hi], x[lo:hi], uint32(lo/4), &d) }))
	return func() error {
		d = newDraw(c, counter)
		b.pool.run(rows)
		return nil
	}
}

func dropoutGo(y, x []float32, block uint32, d *draw) {
	for i := 0; i < len(y); i += 4 {
		random := kernels.Philox([4]uint32{block, d.counter[1], d.counter[2], d.counter[3]}, d.keys[0])
		block++
		for j := i; j < min(i+4, len(y)); j++ {
			if int32(random[j-i]>>8) > d.below {
				y[j] = x[j] * d.scale
			} else {
				y[j] = 0
			}
		}
	}
}
