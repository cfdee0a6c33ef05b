//go:build gpu

package cuda

import (
	_ "embed" // the PTX files

	"prenorm/kernels"
)

//go:embed optimizer.ptx
var optimizerPTX string

var optimizer = &module{"optimizer", optimizerPTX}

func init() {
	enter(planGlobalNorm, bindGlobalNorm)
	enterPlain(func(b *builder, c kernels.ClipFactor, a kernels.Args) {
		b.rows(optimizer, "clip_factor", 1, 1, a.Out[0], a.In[0], a.In[1], a.In[2], c.Max)
	})
	enterPlain(func(b *builder, c kernels.AdamW, a kernels.Args) {
		n := a.In[0].Len()
		b.spread(optimizer, "adamw", n, 4, a.Out[0], a.Out[1], a.Out[2], a.In[0], a.In[1], a.In[2], a.In[3], a.In[4],
			float32(c.Beta1), float32(1-c.Beta1), float32(c.Beta2), float32(1-c.Beta2), float32(c.Eps), float32(c.WeightDecay), n)
	})
	enterPlain(func(b *builder, c kernels.SGD, a kernels.Args) {
		n := a.In[0].Len()
		b.spread(optimizer, "sgd", n, 4, a.Out[0], a.Out[1], a.In[0], a.In[1], a.In[2], a.In[3], float32(c.Momentum), float32(c.WeightDecay), n)
	})
}

// squares says how a sum of squares is cut into parts, each of them whole vectors.
type squares struct {
	count, each int
	partial     uintptr
}

func planGlobalNorm(_ kernels.GlobalNorm, a kernels.Args, s *scratch) (squares, error) {
	n := a.In[0].Len()
	p := squares{each: max(1<<13, ceil(n, 1<<21)<<10)}
	p.count = ceil(n, p.each)
	p.partial = s.f64(p.count)
	return p, nil
}

func bindGlobalNorm(b *builder, _ kernels.GlobalNorm, a kernels.Args, p squares) {
	b.rows(optimizer, "norm_squares", p.count, 256, p.partial, a.In[0], p.each, a.In[0].Len())
	b.rows(optimizer, "norm_root", 1, 256, a.Out[0], p.partial, p.count)
}
