package ref

import (
	"math"

	"prenorm/kernels"
)

func init() {
	define(definition[kernels.AttentionGrad]{
		f32: bindAttentionGrad[float32], f64: bindAttentionGrad[float64],
		workspace: func(c kernels.AttentionGrad, _ kernels.Args) int { return c.T + c.HeadDim + 2*c.T*c.HeadDim },
	})
}

// attentionGradRow is the backward pass of one query row i of head h. With p = exp(s - lse) and D = y·dy:
//
//	dv[j] += p dy;  ds = p (dy·v[j] - D) Scale softcap'(s);  dq += ds k[j];  dk[j] += ds q
//
// scores hold s; dq is one row of D elements and is set; dk and dv are [T, D] sums of one key head and are added to.
func attentionGradRow[F float](dq, dk, dv, scores []float64, lse float64, q, y, dy []F, s *sequence[F], i, h int) {
	clear(dq)
	total := dot(y, dy)
	for j := range scores {
		if !s.sees(i, j) {
			continue
		}
		k, p := s.row(s.k, j, h), math.Exp(scores[j]-lse)
		ds := p * (dot(dy, s.row(s.v, j, h)) - total) * s.scale * cappedSlope(scores[j], s.softcap)
		for d := range dq {
			dv[j*s.dim+d] += p * float64(dy[d])
			dq[d] += ds * float64(k[d])
			dk[j*s.dim+d] += ds * float64(q[d])
		}
	}
}

// attentionGradient holds the views of one backward pass, and its sums of one key head.
type attentionGradient[F float] struct {
	kernels.Attention
	dq, dk, dv, q, y, dy []F
	lse                  []F // nil = recompute
	scores               []float64
	sumQ, sumK, sumV     []float64
}

// keyHead is the backward pass of one sequence b for one key head and the query heads that read it.
func (g *attentionGradient[F]) keyHead(s *sequence[F], b, keyHead int) {
	clear(g.sumK)
	clear(g.sumV)
	group := g.Heads / g.KVHeads
	for h := keyHead * group; h < (keyHead+1)*group; h++ {
		for i := range g.T {
			at := (b*g.T+i)*g.Heads + h
			q := row(g.q, at, g.HeadDim)
			lse := s.score(g.scores[:i+1], q, i, h)
			if g.lse != nil {
				lse = float64(g.lse[at])
			}
			attentionGradRow(g.sumQ, g.sumK, g.sumV, g.scores[:i+1], lse, q, row(g.y, at, g.HeadDim), row(g.dy, at, g.HeadDim), s, i, h)
			store(row(g.dq, at, g.HeadDim), g.sumQ)
		}
	}
	for j := range g.T {
		at := (b*g.T+j)*g.KVHeads + keyHead
		store(row(g.dk, at, g.HeadDim), row(g.sumK, j, g.HeadDim))
		store(row(g.dv, at, g.HeadDim), row(g.sumV, j, g.HeadDim))
	}
}

// store rounds sums to the type of their view.
func store[F float](y []F, x []float64) {
	for i := range y {
		y[i] = F(x[i])
	}
}

func bindAttentionGrad[F float](call kernels.AttentionGrad, v kernels.Args) kernels.Launch {
	c := kernels.Attention(call)
	parts := scratch(v.Work, c.T, c.HeadDim, c.T*c.HeadDim, c.T*c.HeadDim)
	g := &attentionGradient[F]{
		Attention: c,
		dq:        of[F](v.Out[0]), dk: of[F](v.Out[1]), dv: of[F](v.Out[2]),
		q: of[F](v.In[0]), y: of[F](v.In[3]), dy: of[F](v.In[4]),
		scores: parts[0], sumQ: parts[1], sumK: parts[2], sumV: parts[3],
	}
	if len(v.Saved) > 0 {
		g.lse = of[F](v.Saved[0])
	}
	keys, values, documents := of[F](v.In[1]), of[F](v.In[2]), optionalDocuments(v.In, 5)
	return func() error {
		for b := range v.In[0].Dim(0) / c.T {
			s := sequenceOf(c, keys, values, documents, b)
			for h := range c.KVHeads {
				g.keyHead(&s, b, h)
			}
		}
		return nil
	}
}
