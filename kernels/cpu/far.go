package cpu

import "prenorm/kernels"

// farBytes is the size of a call's views from which on they are taken to lie in memory rather than in a cache: the third cache of a processor
// that has much of it for a few cores. Below it, what a call writes is mostly read from a cache by the next one.
const farBytes = 32 << 20

// across are the functions for a call on these views. They differ in speed alone: for views beyond the caches, results are written past these,
// without reading the lines that they replace, and what is read is fetched ahead.
func (b *Backend) across(a kernels.Args) *vectors {
	bytes := 0
	for _, views := range [][]kernels.View{a.Out, a.In} {
		for _, v := range views {
			bytes += v.Bytes()
		}
	}
	return b.moving(bytes)
}

// moving are the functions for a call that reads and writes so many bytes.
func (b *Backend) moving(bytes int) *vectors {
	if b.tier.far == nil || bytes < b.farBytes {
		return &b.tier.vectors
	}
	return b.tier.far
}

// fenced is a loop whose tasks write by v: where that goes past the caches, a task ends with a fence, so that it is not finished for others
// before its results are there.
func (b *Backend) fenced(v *vectors, l *loop) *loop {
	if v == b.tier.far {
		fn := l.fn
		l.fn = func(task int) {
			fn(task)
			b.tier.fence()
		}
	}
	return l
}
