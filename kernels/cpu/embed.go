package cpu

import "prenorm/kernels"

func init() {
	enterPlain(bindEmbed)
	enter(planEmbedGrad, bindEmbedGrad)
}

func bindEmbed(b *Backend, c kernels.Embed, a kernels.Args) kernels.Launch {
	y, tokens, w := a.Out[0].F32(), a.In[0].I32(), a.In[1].F32()
	name, vocab, width := c.Kernel(), a.In[1].Dim(0), a.In[1].Dim(1)
	v := b.moving(2 * a.Out[0].Bytes()) // rows that no token has are not read
	rows := b.fenced(v, rowSpans(len(tokens), width, nsElem/4., func(lo, hi int) {
		for i := lo; i < hi; i++ {
			if v == b.tier.far && i+1 < hi && width > 0 {
				b.tier.fetch(&w[int(tokens[i+1])*width], width, width, 1)
			}
			v.move(y[i*width:][:width], w[int(tokens[i])*width:][:width])
		}
	}))
	return func() error {
		if err := inRange(name, "token", tokens, vocab); err != nil {
			return err
		}
		b.pool.run(rows)
		return nil
	}
}

// Tasks of the gradient of an embedding take a stripe of columns of every so many blocks of rows: neighbouring rows are far from each other in
// frequency, as vocabularies are mostly in its order.
const (
	embedStripe = 256
	embedBlock  = 8
	embedParts  = 32
)

type embedGradPlan struct {
	ends          []int32 // of each row's places in order
	order         []int32 // places in the text, by their token
	stripe, parts int     // columns a task, and tasks a stripe
	sums          []float32
}

func planEmbedGrad(c kernels.EmbedGrad, a kernels.Args, s *scratch) (p embedGradPlan, err error) {
	width := a.In[1].Dim(1)
	p.ends, p.order = s.i32(c.Vocab), s.i32(a.In[0].Len())
	p.stripe, p.parts = min(embedStripe, width), min(embedParts, blocks(c.Vocab, embedBlock))
	p.sums = s.f32(p.parts * blocks(width, max(p.stripe, 1)) * p.stripe)
	return p, nil
}

// sort orders places by their token, and places of one token by themselves.
func (p embedGradPlan) sort(tokens []int32) {
	clear(p.ends)
	for _, t := range tokens {
		p.ends[t]++
	}
	at := int32(0)
	for t, n := range p.ends {
		p.ends[t], at = at, at+n
	}
	for i, t := range tokens {
		p.order[p.ends[t]] = int32(i)
		p.ends[t]++
	}
}

// places are where those of a token begin and end in order.
func (p embedGradPlan) places(token int) (from, end int) {
	if token > 0 {
		from = int(p.ends[token-1])
	}
	return from, int(p.ends[token])
}

// bindEmbedGrad has each element summed over i in order, whoever does it: a task takes all places of its rows.
func bindEmbedGrad(b *Backend, c kernels.EmbedGrad, a kernels.Args, p embedGradPlan) kernels.Launch {
	dw, tokens, dy := a.Out[0].F32(), a.In[0].I32(), a.In[1].F32()
	name, width := c.Kernel(), a.In[1].Dim(1)
	v := b.moving(a.Out[0].Bytes() + a.In[1].Bytes())
	far := v == b.tier.far
	row := func(token, lo, hi int, sum []float32) {
		from, end := p.places(token)
		out := dw[token*width:][lo:hi]
		if from == end {
			v.fill(out, 0)
			return
		}
		if !far {
			sum = out
		}
		clear(sum)
		for i := from; i < end; i++ {
			if far && i+2 < len(p.order) && lo < hi {
				b.tier.fetch(&dy[int(p.order[i+2])*width+lo], width, hi-lo, 1)
			}
			b.tier.addTo(sum, dy[int(p.order[i])*width:][lo:hi])
		}
		if far {
			v.move(out, sum)
		}
	}
	ns := nsElem * float64(len(tokens)+c.Vocab) * float64(p.stripe) / float64(max(p.parts, 1))
	add := b.fenced(v, newLoop(p.parts*blocks(width, max(p.stripe, 1)), ns, func(t int) {
		lo := t / p.parts * p.stripe
		hi := min(lo+p.stripe, width)
		sum := p.sums[t*p.stripe:][:hi-lo]
		for first := t % p.parts * embedBlock; first < c.Vocab; first += p.parts * embedBlock {
			for token := first; token < min(first+embedBlock, c.Vocab); token++ {
				row(token, lo, hi, sum)
			}
		}
	}))
	return func() error {
		if err := inRange(name, "token", tokens, c.Vocab); err != nil {
			return err
		}
		p.sort(tokens)
		b.pool.run(add)
		return nil
	}
}
