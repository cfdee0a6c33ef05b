package cpu

import "prenorm/kernels"

func planHeadGrad(_ kernels.LinearCrossEntropyGrad, a kernels.Args, s *scratch) (headPlan, error) {
	return planHeadOf(a, true, s), nil
}

func bindHeadGrad(b *Backend, c kernels.LinearCrossEntropyGrad, a kernels.Args, p headPlan) kernels.Launch {
	dw, loss := a.Out[1].F32(), a.Out[2].F32()
	h := newHead(b, c, a, p, c.Softcap, true)
	return func() error {
		if h.n == 0 {
			clear(dw)
		}
		return h.run(loss)
	}
}

// gradX are the loops of dx = slopes W over a chunk's rows. An ignored row gets zeros, even if W is not finite.
func (h *head) gradX(p headProducts, targets []int32, w, dx []float32) []*loop {
	return append(p.dx.loops(h.tier, h.logits, w, dx, false, nil), newLoop(len(targets), nsCopy*float64(h.width), func(i int) {
		if targets[i] < 0 {
			clear(dx[i*h.width:][:h.width])
		}
	}))
}

// gradW are the loops of dW = slopesᵀ x, or +=, x being the chunk's. An ignored row of x gives nothing, even if it is not finite.
func (h *head) gradW(p headProducts, targets []int32, x, dw []float32, accumulate bool) []*loop {
	rows := newLoop(len(targets), nsCopy*float64(h.width), func(i int) {
		if row := p.clean[i*h.width:][:h.width]; targets[i] < 0 {
			clear(row)
		} else {
			copy(row, x[i*h.width:])
		}
	})
	return append([]*loop{rows}, p.dw.loops(h.tier, h.logits, p.clean, dw, accumulate, nil)...)
}
