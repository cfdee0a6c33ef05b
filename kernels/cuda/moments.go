//go:build gpu

package cuda

import (
	_ "embed" // the PTX files

	"prenorm/kernels"
)

//go:embed moments.ptx
var momentsPTX string

var moments = &module{"moments", momentsPTX}

func init() {
	enter(planMoments, bindMoments)
	narrowed(kernels.Moments{})
}

// momentsBlocks is the most blocks of the first stage: one thread of the second for each.
const momentsBlocks = 256

type momentsPlan struct {
	blocks  int
	partial uintptr
}

// planMoments cuts the elements by their number alone.
func planMoments(_ kernels.Moments, a kernels.Args, s *scratch) (momentsPlan, error) {
	p := momentsPlan{blocks: min(momentsBlocks, ceil(a.In[0].Len(), 4*threads))}
	p.partial = s.f32(4 * p.blocks)
	return p, nil
}

func bindMoments(b *builder, _ kernels.Moments, a kernels.Args, p momentsPlan) {
	b.rows(moments, typed("moments", a.In[0], a.In[1]), p.blocks, threads, p.partial, a.In[0], a.In[1], a.In[0].Len())
	b.rows(moments, "moments_total", 1, threads, a.Out[0], p.partial, p.blocks)
}
