package cpu

import "prenorm/kernels"

type headGradPlan struct {
	headPlan
	turnedW operand   // Wᵀ, for dx
	turnedX operand   // xᵀ of a chunk, [C, chunk], for dW
	slopes  []float32 // the gradients of the chunk's logits, transposed: [V, pitch(chunk)]
}

func planHeadGrad(_ kernels.LinearCrossEntropyGrad, a kernels.Args, s *scratch) (p headGradPlan, err error) {
	p.headPlan = planHeadOf(a, s)
	p.turnedW = planOperand(p.width, p.vocab, true, true, s)
	p.turnedX = planOperand(p.width, p.chunk, true, true, s)
	p.slopes = s.f32(p.vocab * pitch(p.chunk))
	return p, nil
}

func bindHeadGrad(b *Backend, c kernels.LinearCrossEntropyGrad, a kernels.Args, p headGradPlan) kernels.Launch {
	h := newHead(b, c, a, p.headPlan, c.Softcap)
	h.dloss = a.In[4].F32()
	loops := headGradLoops(h, p, a)
	loss := a.Out[2].F32()
	turnW := p.turnedW.copyLoop(a.In[1].F32())
	after := func() {
		for _, l := range loops {
			b.pool.run(l)
		}
	}
	return func() error {
		b.pool.run(turnW)
		if h.n == 0 {
			clear(a.Out[1].F32())
		}
		return h.run(loss, after)
	}
}

// headGradLoops are the loops of one chunk: dx = slopes W, then dW += slopesᵀ x.
func headGradLoops(h *head, p headGradPlan, a kernels.Args) []*loop {
	const stripe = 256 // columns of the logits that a task transposes
	ldz, lds := pitch(p.vocab), pitch(p.chunk)
	dx, dw, x := a.Out[0].F32(), a.Out[1].F32(), a.In[0].F32()
	dxTiles := h.tiles(p.chunk, p.width, p.vocab, func(i, m, j, n int) {
		w := p.turnedW
		y := dx[(h.row0+i)*p.width+j:]
		productNT(m, n, p.vocab, h.logits[i*ldz:], ldz, w.copied[j*w.pitch:], w.pitch, y, p.width, false)
		for r, target := range h.targets[h.row0+i:][:m] {
			if target < 0 { // zero even if W is not finite
				clear(y[r*p.width:][:n])
			}
		}
	})
	turnX := newLoop(blocks(p.chunk, 64), nsCopy*64*float64(p.width), func(t int) {
		at := t * 64
		if at >= h.held() {
			return
		}
		rows := min(64, h.held()-at)
		transpose(p.turnedX.copied[at:], p.turnedX.pitch, x[(h.row0+at)*p.width:], p.width, rows, p.width)
		for r, target := range h.targets[h.row0+at:][:rows] {
			for j := 0; target < 0 && j < p.width; j++ { // an ignored row of x gives nothing, even if it is not finite
				p.turnedX.copied[j*p.turnedX.pitch+at+r] = 0
			}
		}
	})
	turnSlopes := newLoop(blocks(p.vocab, stripe), nsCopy*float64(stripe*p.chunk), func(t int) {
		at := t * stripe
		transpose(p.slopes[at*lds:], lds, h.logits[at:], ldz, h.held(), min(stripe, p.vocab-at))
	})
	tm, tn := tileSize(p.vocab, p.width)
	columns := blocks(p.width, tn)
	dwTiles := newLoop(blocks(p.vocab, tm)*columns, nsFLOP*2*float64(tm*tn*p.chunk), func(t int) {
		i, j := t/columns*tm, t%columns*tn
		productNT(min(tm, p.vocab-i), min(tn, p.width-j), h.held(), p.slopes[i*lds:], lds,
			p.turnedX.copied[j*p.turnedX.pitch:], p.turnedX.pitch, dw[i*p.width+j:], p.width, h.row0 > 0)
	})
	return []*loop{dxTiles, turnX, turnSlopes, dwTiles}
}
