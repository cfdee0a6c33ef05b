//go:build gpu

package cuda

import (
	_ "embed" // the PTX files
	"fmt"
	"slices"

	"prenorm/kernels"
)

//go:embed flash.ptx
var flashPTX string

//go:embed flashgrad.ptx
var flashGradPTX string

var (
	flashes    = &module{"flash", flashPTX}
	flashGrads = &module{"flashgrad", flashGradPTX}
)

// flashThreads is the block size of the bfloat16 attention kernels.
const flashThreads = 128

// flashShape is how the bfloat16 kernels treat a head dimension: it is padded to size. The rest is as flash.cu and flashgrad.cu have it:
// rows of the tile that a block owns and of those that pass by, and how many of these are held at once; the backward kernels hold two of
// everything, and the one that owns keys is run once for each part of the columns.
type flashShape struct {
	size                int
	queries, keys       int // forward: own tile, passing tile
	own, passing, stage int // backward
	parts               int
}

var flashShapes = []flashShape{
	{size: 32, queries: 128, keys: 64, own: 64, passing: 64, stage: 2, parts: 1},
	{size: 64, queries: 128, keys: 64, own: 64, passing: 64, stage: 2, parts: 1},
	{size: 96, queries: 128, keys: 32, own: 64, passing: 32, stage: 2, parts: 1},
	{size: 128, queries: 128, keys: 32, own: 64, passing: 32, stage: 2, parts: 1},
	{size: 256, queries: 64, keys: 32, own: 64, passing: 32, stage: 1, parts: 2},
}

func flashShapeOf(dim int) flashShape {
	return flashShapes[slices.IndexFunc(flashShapes, func(s flashShape) bool { return dim <= s.size })]
}

// forwardShared is the shared memory of the forward kernel in bytes, elements of two bytes.
func (s flashShape) forwardShared() int { return 2 * s.size * (s.queries + 2*2*s.keys) }

// backwardShared is that of the backward kernels. The one that owns keys holds two statistics of every passing row.
func (s flashShape) backwardShared() int {
	return 2*s.size*(2*s.own+2*s.stage*s.passing) + 4*2*s.stage*s.passing
}

// vectorOf is 1 where the rows of every bfloat16 view can be copied in pieces of 16 bytes.
func vectorOf(dim int, a kernels.Args) int {
	for _, v := range slices.Concat(a.Out, a.In) {
		if v.DType == kernels.BF16 && (dim%8 != 0 || v.Dev%16 != 0) {
			return 0
		}
	}
	return 1
}

// flash adds the forward kernel; y and lse may be 0.
func (b *builder) flash(c kernels.Attention, a kernels.Args, y, lse, documents uintptr) {
	s := flashShapeOf(c.HeadDim)
	args := append([]any{y, lse, a.In[0], a.In[1], a.In[2]}, attributes(c, documents)...)
	grid := [3]int{ceil(c.T, s.queries), c.Heads, a.In[0].Dim(0) / c.T}
	b.launchShared(flashes, fmt.Sprint("flash_", s.size), grid, flashThreads, s.forwardShared(), append(args, vectorOf(c.HeadDim, a))...)
}

// flashGrad adds the backward kernels.
func (b *builder) flashGrad(c kernels.Attention, a kernels.Args, lse, dots, documents uintptr) {
	s, sequences, one := flashShapeOf(c.HeadDim), a.In[0].Dim(0)/c.T, vectorOf(c.HeadDim, a)
	pairs := a.In[0].Dim(0) * c.Heads
	b.rows(flashGrads, "flash_dots", ceil(pairs, 32), 256, dots, a.In[3], a.In[4], c.HeadDim, pairs, one)
	add := func(name string, blocks, heads int, out ...any) {
		args := append(out, a.In[0], a.In[1], a.In[2], a.In[4], lse, dots)
		args = append(append(args, attributes(c, documents)...), one)
		b.launchShared(flashGrads, fmt.Sprint(name, s.size), [3]int{blocks, heads, sequences}, flashThreads, s.backwardShared(), args...)
	}
	add("flash_dq_", ceil(c.T, s.own), c.Heads, a.Out[0])
	add("flash_dkv_", ceil(c.T, s.own)*s.parts, c.KVHeads, a.Out[1], a.Out[2])
}
