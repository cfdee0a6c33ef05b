package cpu

import "prenorm/kernels"

type headGradPlan struct {
	headPlan
	plainW operand   // W as [V, C], for dx
	chunkX []float32 // a chunk of x, packed, for dW
}

func planHeadGrad(_ kernels.LinearCrossEntropyGrad, a kernels.Args, s *scratch) (p headGradPlan, err error) {
	p.headPlan = planHeadOf(a, s)
	p.plainW = planB(p.chunk, p.width, p.vocab, true, s)
	p.chunkX = s.f32(packedSize(s.tier.cols, p.width, p.chunk))
	return p, nil
}

func bindHeadGrad(b *Backend, c kernels.LinearCrossEntropyGrad, a kernels.Args, p headGradPlan) kernels.Launch {
	h := newHead(b, c, a, p.headPlan, c.Softcap)
	h.dloss = a.In[4].F32()
	w, packW := p.plainW.ready(b.tier, a.In[1].F32(), false)
	x := packed(p.chunkX, b.tier.cols, p.chunk)
	loops := []*loop{h.gradX(w, a.Out[0].F32()), h.packX(x, a.In[0].F32()), h.gradW(x, a.Out[1].F32())}
	loss := a.Out[2].F32()
	after := func() {
		for _, l := range loops {
			b.pool.run(l)
		}
	}
	return func() error {
		if h.n == 0 {
			clear(a.Out[1].F32())
		} else if packW != nil {
			b.pool.run(packW)
		}
		return h.run(loss, after)
	}
}

// gradX is the loop of dx = slopes W over a chunk's rows.
func (h *head) gradX(w factor, dx []float32) *loop {
	ld := pitch(h.vocab)
	return h.tasks(h.chunk, h.width, h.vocab, func(i0, i1, j0, j1 int) {
		y := dx[h.row0*h.width:]
		h.productAt(i0, i1, j0, j1, h.vocab, h.rowsA(h.logits, ld), w, y, h.width, false, nil)
		for i := i0; i < i1; i++ {
			if h.targets[h.row0+i] < 0 { // zero even if W is not finite
				clear(y[i*h.width:][j0:j1])
			}
		}
	})
}

// packX is the loop that packs a chunk of x. An ignored row gives nothing, even if it is not finite.
func (h *head) packX(f factor, x []float32) *loop {
	const stripe = 64
	return newLoop(blocks(h.chunk, stripe), nsCopy*stripe*float64(h.width), func(t int) {
		at := t * stripe
		if at >= h.held() {
			return
		}
		end := min(at+stripe, h.held())
		h.packCopied(f, x[h.row0*h.width:], h.width, h.width, at, end)
		for i := at; i < end; i++ {
			for p := 0; h.targets[h.row0+i] < 0 && p < blocks(h.width, f.width); p++ {
				clear(f.x[p*f.panel+i*f.width:][:f.width])
			}
		}
	})
}

// gradW is the loop of dW += slopesᵀ x, x being the chunk's.
func (h *head) gradW(x factor, dw []float32) *loop {
	tm, tn := h.taskSize(h.vocab, h.width)
	columns := blocks(h.width, tn)
	return newLoop(blocks(h.vocab, tm)*columns, nsFLOP*2*float64(tm*tn*h.chunk), func(t int) {
		i, j := t/columns*tm, t%columns*tn
		h.productAt(i, min(i+tm, h.vocab), j, min(j+tn, h.width), h.held(), h.columnsA(h.logits, pitch(h.vocab)), x, dw, h.width, h.row0 > 0, nil)
	})
}
