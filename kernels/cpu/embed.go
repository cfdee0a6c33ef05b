package cpu

import "prenorm/kernels"

func init() {
	enterPlain(bindEmbed)
	enterPlain(bindEmbedGrad)
}

func bindEmbed(b *Backend, c kernels.Embed, a kernels.Args) kernels.Launch {
	y, tokens, w := a.Out[0].F32(), a.In[0].I32(), a.In[1].F32()
	name, vocab, width := c.Kernel(), a.In[1].Dim(0), a.In[1].Dim(1)
	rows := rowSpans(len(tokens), width, nsElem/4., func(lo, hi int) {
		for i := lo; i < hi; i++ {
			copy(y[i*width:][:width], w[int(tokens[i])*width:])
		}
	})
	return func() error {
		if err := inRange(name, "token", tokens, vocab); err != nil {
			return err
		}
		b.pool.run(rows)
		return nil
	}
}

// bindEmbedGrad gives a task a stripe of columns, so that each element is summed over i in order whoever does it.
func bindEmbedGrad(b *Backend, c kernels.EmbedGrad, a kernels.Args) kernels.Launch {
	const stripe = 32
	dw, tokens, dy := a.Out[0].F32(), a.In[0].I32(), a.In[1].F32()
	name, width := c.Kernel(), a.In[1].Dim(1)
	zero := fill(dw, 0)
	add := newLoop(blocks(width, stripe), float64(len(tokens)*stripe), func(t int) {
		lo, hi := t*stripe, min((t+1)*stripe, width)
		for i, token := range tokens {
			b.tier.addTo(dw[int(token)*width:][lo:hi], dy[i*width:][lo:hi])
		}
	})
	return func() error {
		if err := inRange(name, "token", tokens, c.Vocab); err != nil {
			return err
		}
		b.pool.run(zero)
		b.pool.run(add)
		return nil
	}
}
