package cpu

import "prenorm/kernels"

func init() { enter(planAttentionGrad, bindAttentionGrad) }

// gradSizes are the floats that one lane of the backward pass holds, in the order of [gradSpace].
func (t *tier) gradSizes(rows, dim, block int) [7]int {
	turned, plain, scores := packedSize(t.cols, rows, dim), t.headSize(rows, dim), block*pitch(rows)
	return [7]int{turned, turned, plain, plain, plain, scores, scores}
}

// gradSpace is one lane's workspace.
type gradSpace struct {
	turnedK, turnedV []float32 // packed as factors [D, T]
	k, q, dy         []float32 // packed as factors [T, D] where they are not read in place
	p, ds            []float32 // probabilities, and the gradient of the raw products: [block, pitch(T)]
}

type gradPlan struct {
	lanes
	block int
	space []float32
}

func planAttentionGrad(c kernels.AttentionGrad, a kernels.Args, s *scratch) (p gradPlan, err error) {
	p.block = 2 * queryBlock(c.T)
	size := 0
	for _, n := range s.tier.gradSizes(c.T, c.HeadDim, p.block) {
		size += n
	}
	p.lanes = planLanes(a.In[0].Dim(0)/c.T*c.KVHeads, size)
	p.space = s.f32(p.count * size)
	return p, nil
}

// at cuts a lane's workspace.
func (p gradPlan) at(t *tier, lane, rows, dim int) gradSpace {
	all := p.part(p.space, lane)
	var x [7][]float32
	for i, n := range t.gradSizes(rows, dim, p.block) {
		x[i], all = all[:n], all[n:]
	}
	return gradSpace{x[0], x[1], x[2], x[3], x[4], x[5], x[6]}
}

// bindAttentionGrad makes a task of one key head of one sequence, which sums dk and dv over its query heads in their order.
func bindAttentionGrad(b *Backend, c kernels.AttentionGrad, a kernels.Args, p gradPlan) kernels.Launch {
	g := geometryOf(c.Heads, c.KVHeads, c.HeadDim, c.Scale, c.Softcap, c.Window)
	dq, dk, dv := a.Out[0].F32(), a.Out[1].F32(), a.Out[2].F32()
	q, k, v, y, dy := a.In[0].F32(), a.In[1].F32(), a.In[2].F32(), a.In[3].F32(), a.In[4].F32()
	lse, documents := statistic(a.Saved, 0), documentsAt(a.In, 5)
	group := c.Heads / c.KVHeads
	return b.run1(p.loop(nsFLOP*10*float64(c.T*c.T*c.HeadDim*group), func(lane, item int) {
		row, kvHead := item/c.KVHeads*c.T, item%c.KVHeads
		kv := row*g.kvWidth + kvHead*g.dim
		w := gradHead{geometry: g, tier: b.tier, gradSpace: p.at(b.tier, lane, c.T, g.dim), t: c.T, k: k[kv:], v: v[kv:], dk: dk[kv:], dv: dv[kv:],
			documents: rowsOf(documents, row, c.T)}
		w.loadKeys()
		for h := kvHead * group; h < (kvHead+1)*group; h++ {
			at := row*g.width + h*g.dim
			w.q, w.y, w.dy, w.dq = q[at:], y[at:], dy[at:], dq[at:]
			if lse != nil {
				w.lse = lse[row*c.Heads+h:]
			}
			w.loadQueries()
			for i := 0; i < c.T; i += p.block {
				w.rows(i, min(p.block, c.T-i))
			}
		}
	}))
}

// gradHead is the backward pass of one query head. Its slices start at the head's first element.
type gradHead struct {
	geometry
	*tier
	gradSpace
	t                                             int
	q, k, v, y, dy, lse, dq, dk, dv               []float32
	documents                                     []int32
	keysTurned, valuesTurned, keys, queries, dOut factor
	finiteKeys, finite                            bool // keys and values are, and so are q, y and dy
}

// loadKeys packs keys and values, and clears their gradients.
func (w *gradHead) loadKeys() {
	w.keysTurned = w.turnedFactor(w.turnedK, w.k, w.kvWidth, w.t, w.dim)
	w.valuesTurned = w.turnedFactor(w.turnedV, w.v, w.kvWidth, w.t, w.dim)
	w.keys = w.headFactor(w.gradSpace.k, w.k, w.kvWidth, w.t, w.dim)
	w.finiteKeys = allFinite(w.k, w.kvWidth, w.t, w.dim) && allFinite(w.v, w.kvWidth, w.t, w.dim)
	for j := range w.t {
		clear(w.dk[j*w.kvWidth:][:w.dim])
		clear(w.dv[j*w.kvWidth:][:w.dim])
	}
}

// loadQueries packs a query head's rows.
func (w *gradHead) loadQueries() {
	w.queries = w.headFactor(w.gradSpace.q, w.q, w.width, w.t, w.dim)
	w.dOut = w.headFactor(w.gradSpace.dy, w.dy, w.width, w.t, w.dim)
	w.finite = w.finiteKeys
	for _, x := range [][]float32{w.q, w.y, w.dy} {
		w.finite = w.finite && allFinite(x, w.width, w.t, w.dim)
	}
}

// rows treats query rows i … i+n-1: with p = softmax(s) and D = y·dy,
//
//	dv += pᵀ dy;  ds = p (dy vᵀ - D) s';  dq = ds k;  dk += dsᵀ q
//
// where s' is the derivative of a score by the raw product.
func (w *gradHead) rows(i, n int) {
	lo, hi := w.span(i, n)
	m, ld, at := hi-lo, pitch(w.t), i*w.width
	w.product(n, m, w.dim, w.rowsA(w.q[at:], w.width), w.keysTurned.past(lo), w.p, ld, false)
	w.product(n, m, w.dim, w.rowsA(w.dy[at:], w.width), w.valuesTurned.past(lo), w.ds, ld, false)
	for r := range n {
		w.row(i+r, lo, w.p[r*ld:][:m], w.ds[r*ld:][:m])
	}
	dq, dk, dv := w.dq[at:], w.dk[lo*w.kvWidth:], w.dv[lo*w.kvWidth:]
	if w.finite {
		w.product(n, w.dim, m, w.rowsA(w.ds, ld), w.keys.after(lo), dq, w.width, false)
		w.product(m, w.dim, n, w.columnsA(w.p, ld), w.dOut.after(i), dv, w.kvWidth, true)
		w.product(m, w.dim, n, w.columnsA(w.ds, ld), w.queries.after(i), dk, w.kvWidth, true)
		return
	}
	sees := func(r, j int) bool { return w.sees(i+r, lo+j, w.documents) }
	seen := func(j, r int) bool { return sees(r, j) }
	productSeen(sees, n, w.dim, m, strided{w.ds, ld, 1}, strided{w.k[lo*w.kvWidth:], w.kvWidth, 1}, dq, w.width, false)
	productSeen(seen, m, w.dim, n, strided{w.p, 1, ld}, strided{w.dy[at:], w.width, 1}, dv, w.kvWidth, true)
	productSeen(seen, m, w.dim, n, strided{w.ds, 1, ld}, strided{w.q[at:], w.width, 1}, dk, w.kvWidth, true)
}

// row turns raw products in p into probabilities and dy·v in ds into the gradient of the raw products.
func (w *gradHead) row(i, lo int, p, ds []float32) {
	seen := w.prepare(p, i, lo, w.documents)
	from := max(w.first(i)-lo, 0)
	clear(ds[:from])
	clear(ds[from+len(seen):])
	ds = ds[from:][:len(seen)]
	var lse float32
	if w.lse != nil {
		lse = w.lse[i*w.heads]
	} else {
		top := maximum(seen)
		lse = logSumExp(top, sumExp(seen, top))
	}
	var total float64
	y, dy := w.y[i*w.width:][:w.dim], w.dy[i*w.width:][:w.dim]
	for j, v := range y {
		total += float64(v) * float64(dy[j])
	}
	w.slopes(seen, ds, lse, float32(total))
}

// slopes sets p = exp(s - lse) in place of the scores, and ds.
func (w *gradHead) slopes(s, ds []float32, lse, total float32) {
	for j, score := range s {
		p := exp32(score - lse)
		s[j] = p
		d := p * (ds[j] - total) * w.scale
		if w.softcap > 0 && p != 0 { // in another document the score is -Inf
			u := score / w.softcap
			d *= 1 - u*u
		}
		ds[j] = d
	}
}
