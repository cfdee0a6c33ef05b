package ref

import (
	"math"

	"prenorm/kernels"
)

func init() {
	define(definition[kernels.Attention]{
		f32: bindAttention[float32], f64: bindAttention[float64],
		workspace: func(c kernels.Attention, _ kernels.Args) int { return c.T },
	})
}

// sequence is the keys and values of one sequence, and how its queries see them.
type sequence[F float] struct {
	heads, kvHeads, dim int
	scale, softcap      float64
	window              int
	k, v                []F     // [rows, KV*D]
	documents           []int32 // [rows], nil = one document
}

// row is row j of the keys or values kv that query head h reads.
func (s *sequence[F]) row(kv []F, j, h int) []F {
	first := j*s.kvHeads*s.dim + h/(s.heads/s.kvHeads)*s.dim
	return kv[first : first+s.dim]
}

// sees says whether the query of row i sees row j.
func (s *sequence[F]) sees(i, j int) bool {
	return j <= i && (s.window <= 0 || i-j < s.window) && (s.documents == nil || s.documents[j] == s.documents[i])
}

// score sets scores[j] for every row j that the query q of row i sees, and returns their log-sum-exp, rounded to F.
func (s *sequence[F]) score(scores []float64, q []F, i, h int) float64 {
	top := math.Inf(-1)
	for j := range scores {
		if s.sees(i, j) {
			scores[j] = capped(s.scale*dot(q, s.row(s.k, j, h)), s.softcap)
			top = math.Max(top, scores[j])
		}
	}
	sum := 0.0
	for j := range scores {
		if s.sees(i, j) {
			sum += math.Exp(scores[j] - top)
		}
	}
	return round[F](top + math.Log(sum))
}

// attend is y = the sum over the rows j that row i sees of p[j] v[j], p[j] = exp(scores[j] - lse). It leaves p in scores.
func (s *sequence[F]) attend(y []F, scores []float64, lse float64, i, h int) {
	for j := range scores {
		if s.sees(i, j) {
			scores[j] = math.Exp(scores[j] - lse)
		}
	}
	for d := range y {
		sum := 0.0
		for j := range scores {
			if s.sees(i, j) {
				sum += scores[j] * float64(s.row(s.v, j, h)[d])
			}
		}
		y[d] = F(sum)
	}
}

// attention runs every head of every row of one sequence of c.T rows. lse, where it is not nil, receives the statistic.
func attention[F float](y, lse, q []F, s *sequence[F], c kernels.Attention, scores []float64) {
	for i := range c.T {
		for h := range c.Heads {
			at := i*c.Heads + h
			total := s.score(scores[:i+1], row(q, at, c.HeadDim), i, h)
			s.attend(row(y, at, c.HeadDim), scores[:i+1], total, i, h)
			if lse != nil {
				lse[at] = F(total)
			}
		}
	}
}

// sequenceOf is sequence b of T rows of keys, values and, where there are any, documents.
func sequenceOf[F float](c kernels.Attention, k, v []F, documents []int32, b int) sequence[F] {
	width := c.T * c.KVHeads * c.HeadDim
	s := sequence[F]{
		heads: c.Heads, kvHeads: c.KVHeads, dim: c.HeadDim, scale: c.Scale, softcap: c.Softcap, window: c.Window,
		k: row(k, b, width), v: row(v, b, width),
	}
	if documents != nil {
		s.documents = row(documents, b, c.T)
	}
	return s
}

func bindAttention[F float](c kernels.Attention, v kernels.Args) kernels.Launch {
	y, q, keys, values := of[F](v.Out[0]), of[F](v.In[0]), of[F](v.In[1]), of[F](v.In[2])
	documents := optionalDocuments(v.In, 3)
	var lse []F
	if len(v.Aux) > 0 {
		lse = of[F](v.Aux[0])
	}
	scores := scratch(v.Work, c.T)[0]
	width := c.T * c.Heads * c.HeadDim
	return func() error {
		for b := range v.In[0].Dim(0) / c.T {
			s := sequenceOf(c, keys, values, documents, b)
			var part []F
			if lse != nil {
				part = row(lse, b, c.T*c.Heads)
			}
			attention(row(y, b, width), part, row(q, b, width), &s, c, scores)
		}
		return nil
	}
}

// optionalDocuments is input i, or nil where the call has none.
func optionalDocuments(in []kernels.View, i int) []int32 {
	if len(in) <= i {
		return nil
	}
	return in[i].I32()
}
