package cpu

import "prenorm/kernels"

func init() { enter(planAttentionGrad, bindAttentionGrad) }

// gradSizes are the floats that one lane of the backward pass holds, in the order of [gradSpace].
func gradSizes(t, d, block int) [9]int {
	rows, columns, scores, turned := t*pitch(d), d*pitch(t), block*pitch(t), t*pitch(block)
	return [9]int{rows, rows, columns, columns, columns, scores, scores, turned, turned}
}

// gradSpace is one lane's workspace.
type gradSpace struct {
	keys, values     []float32 // [T, pitch(D)]
	keysT, qT, dyT   []float32 // transposed, [D, pitch(T)]
	p, ds            []float32 // probabilities, and the gradient of the raw products: [block, pitch(T)]
	turnedP, turnedS []float32 // the same transposed, [T, pitch(block)]
}

type gradPlan struct {
	lanes
	block int
	space []float32
}

func planAttentionGrad(c kernels.AttentionGrad, a kernels.Args, s *scratch) (p gradPlan, err error) {
	p.block = queryBlock(c.T)
	size := 0
	for _, n := range gradSizes(c.T, c.HeadDim, p.block) {
		size += n
	}
	p.lanes = planLanes(a.In[0].Dim(0)/c.T*c.KVHeads, size)
	p.space = s.f32(p.count * size)
	return p, nil
}

// at cuts a lane's workspace. Every size is a whole number of cache lines.
func (p gradPlan) at(lane, t, d int) gradSpace {
	all := p.part(p.space, lane)
	var x [9][]float32
	for i, n := range gradSizes(t, d, p.block) {
		x[i], all = all[:n], all[n:]
	}
	return gradSpace{x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8]}
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
		w := gradHead{geometry: g, gradSpace: p.at(lane, c.T, g.dim), t: c.T, dk: dk[kv:], dv: dv[kv:], documents: rowsOf(documents, row, c.T)}
		w.load(k[kv:], v[kv:])
		for h := kvHead * group; h < (kvHead+1)*group; h++ {
			at := row*g.width + h*g.dim
			w.q, w.y, w.dy, w.dq = q[at:], y[at:], dy[at:], dq[at:]
			if lse != nil {
				w.lse = lse[row*c.Heads+h:]
			}
			transpose(w.qT, pitch(c.T), w.q, g.width, c.T, g.dim)
			transpose(w.dyT, pitch(c.T), w.dy, g.width, c.T, g.dim)
			w.finite = w.finiteKeys && allFinite(w.q, g.width, c.T, g.dim) && allFinite(w.y, g.width, c.T, g.dim) && allFinite(w.dy, g.width, c.T, g.dim)
			for i := 0; i < c.T; i += p.block {
				w.rows(i, min(p.block, c.T-i), pitch(p.block))
			}
		}
	}))
}

// gradHead is the backward pass of one query head. Its slices start at the head's first element.
type gradHead struct {
	geometry
	gradSpace
	t                         int
	q, y, dy, lse, dq, dk, dv []float32
	documents                 []int32
	finiteKeys, finite        bool // keys and values are, and so are q, y and dy
}

// load copies keys and values, and clears their gradients.
func (w *gradHead) load(k, v []float32) {
	copyRows(w.keys, pitch(w.dim), k, w.kvWidth, w.t, w.dim)
	copyRows(w.values, pitch(w.dim), v, w.kvWidth, w.t, w.dim)
	transpose(w.keysT, pitch(w.t), k, w.kvWidth, w.t, w.dim)
	w.finiteKeys = allFinite(w.keys, pitch(w.dim), w.t, w.dim) && allFinite(w.values, pitch(w.dim), w.t, w.dim)
	for j := range w.t {
		clear(w.dk[j*w.kvWidth:][:w.dim])
		clear(w.dv[j*w.kvWidth:][:w.dim])
	}
}

// rows treats query rows i … i+n-1: with p = softmax(s) and D = y·dy,
//
//	dv += pᵀ dy;  ds = p (dy vᵀ - D) s';  dq = ds k;  dk += dsᵀ q
//
// where s' is the derivative of a score by the raw product.
func (w *gradHead) rows(i, n, ldb int) {
	lo, hi := w.span(i, n)
	m, ldk, ldt := hi-lo, pitch(w.dim), pitch(w.t)
	at := i * w.width
	productNT(n, m, w.dim, w.q[at:], w.width, w.keys[lo*ldk:], ldk, w.p, ldt, false)
	productNT(n, m, w.dim, w.dy[at:], w.width, w.values[lo*ldk:], ldk, w.ds, ldt, false)
	for r := range n {
		w.row(i+r, lo, w.p[r*ldt:][:m], w.ds[r*ldt:][:m])
	}
	transpose(w.turnedP, ldb, w.p, ldt, n, m)
	transpose(w.turnedS, ldb, w.ds, ldt, n, m)
	dq, dk, dv := w.dq[at:], w.dk[lo*w.kvWidth:], w.dv[lo*w.kvWidth:]
	if w.finite {
		productNT(n, w.dim, m, w.ds, ldt, w.keysT[lo:], ldt, dq, w.width, false)
		productNT(m, w.dim, n, w.turnedP, ldb, w.dyT[i:], ldt, dv, w.kvWidth, true)
		productNT(m, w.dim, n, w.turnedS, ldb, w.qT[i:], ldt, dk, w.kvWidth, true)
		return
	}
	sees := func(r, j int) bool { return w.sees(i+r, lo+j, w.documents) }
	seen := func(j, r int) bool { return sees(r, j) }
	productSeen(sees, n, w.dim, m, w.ds, ldt, w.keysT[lo:], ldt, dq, w.width, false)
	productSeen(seen, m, w.dim, n, w.turnedP, ldb, w.dyT[i:], ldt, dv, w.kvWidth, true)
	productSeen(seen, m, w.dim, n, w.turnedS, ldb, w.qT[i:], ldt, dk, w.kvWidth, true)
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
