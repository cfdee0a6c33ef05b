package kerneltest

import (
	"fmt"
	"math"
)

// windowShapes have windows whose edges lie on those of tiles, where a kernel that leaves out what no row sees, or what needs no mask, is
// easily off by one. Tiles are of 16, 32 or 64 rows, and of two sizes where they are in play together.
//
// A window of 16n+2 rows ends such that the first row of a tile still sees the last row of another: 2 does so for tiles of every size. One of
// 16n+15 ends such that the last row of a tile just misses the first row of another, and that is all which is hidden there: 63 does so with
// other tiles of 16 and 32 rows, 95 with those of 64, which kernels for small head dimensions have.
var windowShapes = []attentionShape{
	{t: 67, d: 24, window: 2, documents: "one"},
	{t: 131, d: 24, window: 95},
	{t: 67, d: 56, window: 2},
	{t: 131, d: 56, window: 95, documents: "one"},
	{t: 69, d: 72, window: 2, documents: "one"},
	{t: 67, d: 72, window: 63},
	{t: 67, d: 104, window: 2},
	{t: 69, d: 104, window: 63, documents: "one"},
	{t: 69, d: 136, window: 2},
	{t: 67, d: 136, window: 63},
	// Windows that end tiles further off.
	{t: 67, d: 136, window: 18},
	{t: 67, d: 72, window: 50, documents: "mixed"},
	{t: 131, d: 8, window: 66, documents: "mixed"},
	{t: 195, d: 5, window: 130},
}

// windows are the cases of windowShapes, two query heads for a key head. Of all rows a query likes the last one that it sees, and the first one
// that it does not, so that either counts for much.
func windows(g *generator, add func(name string, s attentionShape, in []tensor, infinite bool)) {
	for _, s := range windowShapes {
		s.b, s.heads, s.kv = 1, 2, 1
		in := s.inputs(g, 1)
		q, k := in[0], in[1]
		for i := s.window - 1; i < s.t; i++ {
			for e := range s.heads * s.d {
				last := (i - s.window + 1) * s.d
				like := k.floats[last+e%s.d]
				if last > 0 {
					like += k.floats[last-s.d+e%s.d]
				}
				// The inner product of a row of k with itself is d; this makes a score of 6 of it.
				q.floats[i*s.heads*s.d+e] = g.round(0.3*q.floats[i*s.heads*s.d+e] + 6/math.Sqrt(float64(s.d))*like)
			}
		}
		add(fmt.Sprint(" window=", s.window), s, in, false)
	}
}
