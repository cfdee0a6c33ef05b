package cpu

import (
	"math"

	"prenorm/kernels"
)

func init() { enter(planAttention, bindAttention) }

// Attention goes head by head. For a block of query rows the scores against all keys that any of them sees are one product, softmax turns
// them row by row into probabilities, zero where a row does not see, and these times the values are another product.

// geometry says where heads lie in rows and what a query sees.
type geometry struct {
	heads, kvHeads, dim int
	width, kvWidth      int // of a row of queries, of keys and values
	scale, softcap      float32
	window              int
}

func geometryOf(heads, kvHeads, dim int, scale, softcap float64, window int) geometry {
	return geometry{heads: heads, kvHeads: kvHeads, dim: dim, width: heads * dim, kvWidth: kvHeads * dim,
		scale: float32(scale), softcap: float32(softcap), window: window}
}

// kvHead is the key and value head of query head h.
func (g geometry) kvHead(h int) int { return h / (g.heads / g.kvHeads) }

// first is the earliest row that row i sees.
func (g geometry) first(i int) int {
	if g.window <= 0 {
		return 0
	}
	return max(0, i-g.window+1)
}

// sees says whether row i sees row j.
func (g geometry) sees(i, j int, documents []int32) bool {
	return j <= i && j >= g.first(i) && (documents == nil || documents[i] == documents[j])
}

// span is the range of rows that rows i … i+n-1 see, its start moved down to where a panel of keys starts on every tier.
func (g geometry) span(i, n int) (lo, hi int) { return g.first(i) &^ (spanStart - 1), i + n }

const spanStart = 32

// prepare turns the raw products s of row i with keys lo, lo+1 … into scores: scaled, capped, and -Inf in another document. It returns the
// part of s that the row sees.
func (g geometry) prepare(s []float32, i, lo int, documents []int32) []float32 {
	from := min(max(g.first(i)-lo, 0), len(s)) // a row past the cache may see none of it
	to := max(min(i+1-lo, len(s)), from)
	seen := s[from:to]
	for j := range seen {
		seen[j] *= g.scale
	}
	if g.softcap > 0 {
		softcap(seen, seen, g.softcap)
	}
	if documents != nil {
		own := documents[i]
		for j, d := range documents[lo+from : lo+to] {
			if d != own {
				seen[j] = float32(math.Inf(-1))
			}
		}
	}
	clear(s[:from])
	clear(s[to:])
	return seen
}

// softmax turns the raw products of row i into probabilities, zero where it does not see, and returns their log-sum-exp.
func (g geometry) softmax(s []float32, i, lo int, documents []int32) float32 {
	seen := g.prepare(s, i, lo, documents)
	if len(seen) == 0 {
		return float32(math.Inf(-1))
	}
	top := maximum(seen)
	sum := expShifted(seen, seen, top)
	inverse := float32(1 / sum)
	for j := range seen {
		seen[j] *= inverse
	}
	return logSumExp(top, sum)
}

func logSumExp(top float32, sum float64) float32 { return float32(float64(top) + math.Log(sum)) }

// queryBlock is the number of query rows treated at once. Larger blocks multiply faster and mask more for nothing.
func queryBlock(t int) int {
	if t <= 256 {
		return min(t, 24)
	}
	return 48
}

// headFactor is a head's [T, D] as a factor B[k=T, n=D]: where it lies, or packed into its place.
func (t *tier) headFactor(place, x []float32, ld, rows, dim int) factor {
	if t.readsB(dim) {
		return t.columnsB(x, ld)
	}
	f := packed(place, t.cols, rows)
	f.pack(t.packCopy, x, ld, false, dim, rows, 0, blocks(dim, t.cols))
	return f
}

// headSize is the place that headFactor wants.
func (t *tier) headSize(rows, dim int) int {
	if t.readsB(dim) {
		return 0
	}
	return packedSize(t.cols, dim, rows)
}

// turnedFactor is a head's [T, D] as a factor B[k=D, n=T], packed into its place of packedSize(cols, T, D).
func (t *tier) turnedFactor(place, x []float32, ld, rows, dim int) factor {
	f := packed(place, t.cols, dim)
	f.pack(t.packTurn, x, ld, true, rows, dim, 0, blocks(rows, t.cols))
	return f
}

type attentionPlan struct {
	lanes
	block                int
	keys, values, scores []float32 // per lane: packed keys, packed values where they are not read in place, [block, pitch(T)]
}

func planAttention(c kernels.Attention, a kernels.Args, s *scratch) (p attentionPlan, err error) {
	p.block = queryBlock(c.T)
	keys, values, scores := packedSize(s.tier.cols, c.T, c.HeadDim), s.tier.headSize(c.T, c.HeadDim), p.block*pitch(c.T)
	p.lanes = planLanes(a.In[0].Dim(0)/c.T*c.Heads, keys+values+scores)
	p.keys, p.values, p.scores = s.f32(p.count*keys), s.f32(p.count*values), s.f32(p.count*scores)
	return p, nil
}

func bindAttention(b *Backend, c kernels.Attention, a kernels.Args, p attentionPlan) kernels.Launch {
	g := geometryOf(c.Heads, c.KVHeads, c.HeadDim, c.Scale, c.Softcap, c.Window)
	y, q, k, v := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32(), a.In[2].F32()
	lse, documents := statistic(a.Aux, 0), documentsAt(a.In, 3)
	return b.run1(p.loop(nsFLOP*4*float64(c.T*c.T*c.HeadDim), func(lane, item int) {
		row, h := item/c.Heads*c.T, item%c.Heads
		at, kv := row*g.width+h*g.dim, row*g.kvWidth+g.kvHead(h)*g.dim
		f := attentionHead{geometry: g, tier: b.tier, t: c.T, block: p.block, y: y[at:], q: q[at:], v: v[kv:],
			documents: rowsOf(documents, row, c.T), scores: p.part(p.scores, lane)}
		if lse != nil {
			f.lse = lse[row*c.Heads+h:]
		}
		f.keys = f.turnedFactor(p.part(p.keys, lane), k[kv:], g.kvWidth, c.T, g.dim)
		f.values = f.headFactor(p.part(p.values, lane), v[kv:], g.kvWidth, c.T, g.dim)
		f.finite = allFinite(f.v, g.kvWidth, c.T, g.dim)
		for i := 0; i < c.T; i += p.block {
			f.rows(i, min(p.block, c.T-i))
		}
	}))
}

// documentsAt is the optional input i.
func documentsAt(in []kernels.View, i int) []int32 {
	if len(in) <= i {
		return nil
	}
	return in[i].I32()
}

// rowsOf is the part of the document ids that belongs to a sequence.
func rowsOf(documents []int32, row, t int) []int32 {
	if documents == nil {
		return nil
	}
	return documents[row:][:t]
}

// attentionHead is the work of one head of one sequence. y, q and v start at its first element, lse (if wanted) at its first row.
type attentionHead struct {
	geometry
	*tier
	t, block     int
	y, q, v, lse []float32
	documents    []int32
	keys, values factor
	scores       []float32
	finite       bool // all values are
}

// rows treats query rows i … i+n-1.
func (f *attentionHead) rows(i, n int) {
	lo, hi := f.span(i, n)
	ld := pitch(f.t)
	f.product(n, hi-lo, f.dim, f.rowsA(f.q[i*f.width:], f.width), f.keys.past(lo), f.scores, ld, false)
	for r := range n {
		lse := f.softmax(f.scores[r*ld:][:hi-lo], i+r, lo, f.documents)
		if f.lse != nil {
			f.lse[(i+r)*f.heads] = lse
		}
	}
	y := f.y[i*f.width:]
	if f.finite {
		f.product(n, f.dim, hi-lo, f.rowsA(f.scores, ld), f.values.after(lo), y, f.width, false)
		return
	}
	sees := func(r, j int) bool { return f.sees(i+r, lo+j, f.documents) }
	productSeen(sees, n, f.dim, hi-lo, strided{f.scores, ld, 1}, strided{f.v[lo*f.kvWidth:], f.kvWidth, 1}, y, f.width, false)
}
