//go:build gpu

package cuda

import (
	_ "embed" // the PTX files

	"prenorm/kernels"
)

//go:embed rows.ptx
var rowsPTX string

var rows = &module{"rows", rowsPTX}

func init() {
	narrowed(kernels.Rope{})
	enterPlain(func(b *builder, _ kernels.Embed, a kernels.Args) {
		n, vocab, width := a.Out[0].Len(), a.In[1].Dim(0), a.In[1].Dim(1)
		b.spread(rows, "embed", n, 4, a.Out[0], a.In[0], a.In[1], b.bad("token", vocab, ""), vocab, width, n)
	})
	enterPlain(bindEmbedGrad)
	enterPlain(bindRope)
	enterPlain(bindCacheWrite)
}

// bindEmbedGrad gives each block more rows of a large vocabulary, so that the tokens are not read too often.
func bindEmbedGrad(b *builder, c kernels.EmbedGrad, a kernels.Args) {
	name, each := "embed_grad_8", 8
	if c.Vocab > 1024 {
		name, each = "embed_grad_32", 32
	}
	n, width := a.In[1].Dim(0), a.In[1].Dim(1)
	b.launch(rows, name, [3]int{ceil(c.Vocab, each), ceil(width, 128), 1}, 128, a.Out[0], a.In[0], a.In[1], b.bad("token", c.Vocab, ""), n, c.Vocab, width)
}

func bindRope(b *builder, c kernels.Rope, a kernels.Args) {
	sign := float32(1)
	if c.Inverse {
		sign = -1
	}
	y, limit, d, pairs := a.Out[0], a.In[2].Dim(0), a.In[2].Dim(1), a.Out[0].Len()/2
	b.spread(rows, typed("rope", y), pairs, wide(y), y, a.In[0], a.In[1], a.In[2], b.bad("position", limit, ""), limit, a.In[0].Dim(1), d, sign, pairs)
}

// bindCacheWrite copies the cache where its memory is not that of the output.
func bindCacheWrite(b *builder, c kernels.CacheWrite, a kernels.Args) {
	out, cache, fresh := a.Out[0], a.In[0], a.In[1]
	if out.Dev != cache.Dev {
		b.spread(elementwise, typed("convert", out, cache), out.Len(), 4, out, cache, out.Len())
	}
	bad := b.bad("position", c.Context, ", the context of the cache")
	b.spread(rows, "cache_write", fresh.Len(), 4, out, fresh, a.In[2], bad, c.T, c.Context, cache.Dim(1), fresh.Len())
}
