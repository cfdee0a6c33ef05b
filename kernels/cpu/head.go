package cpu

import (
	"fmt"
	"math"

	"prenorm/kernels"
)

func init() {
	enter(planHead, bindHead)
	enter(planHeadGrad, bindHeadGrad)
}

// The head works in chunks of rows, so that only a chunk's logits are held. Both calls compute each row's loss in the same way from the same
// products and add the rows in order, hence their losses have the same bits.

// Bounds on a chunk: its logits should fit into 4 MiB, but dW is a product whose K is the number of rows, and that is slow below 32.
const (
	chunkFloats = 1 << 20
	chunkMin    = 32
)

func chunkRows(n, vocab int) int { return min(n, max(chunkMin, chunkFloats/max(vocab, 1)&^15)) }

// headPlan is the shared part: W packed, one chunk of logits, the losses of its rows.
type headPlan struct {
	n, vocab, width, chunk int
	w                      operand
	logits                 []float32 // [chunk, pitch(V)]
	losses                 []float64 // [chunk]
}

func planHeadOf(a kernels.Args, s *scratch) headPlan {
	p := headPlan{n: a.In[0].Dim(0), vocab: a.In[1].Dim(0), width: a.In[0].Dim(1)}
	p.chunk = chunkRows(p.n, p.vocab)
	p.w = planB(p.chunk, p.vocab, p.width, false, s)
	p.logits, p.losses = s.f32(p.chunk*pitch(p.vocab)), s.f64(p.chunk)
	return p
}

// head is a bound head. row0 is the first row of the chunk that the loops treat.
type head struct {
	headPlan
	*tier
	call                  kernels.Call
	pool                  *pool
	targets               []int32
	normaliser, dloss     []float32 // dloss is nil without gradients
	softcap               float32
	row0                  int
	ready, multiply, rows *loop
}

func newHead(b *Backend, c kernels.Call, a kernels.Args, p headPlan, limit float64) *head {
	h := &head{headPlan: p, tier: b.tier, call: c, pool: b.pool, targets: a.In[2].I32(), normaliser: a.In[3].F32(), softcap: float32(limit)}
	x := a.In[0].F32()
	w, ready := p.w.ready(b.tier, a.In[1].F32(), false)
	h.ready = ready
	h.multiply = h.tasks(p.chunk, p.vocab, p.width, func(i0, i1, j0, j1 int) {
		h.productAt(i0, i1, j0, j1, p.width, h.rowsA(x[h.row0*p.width:], p.width), w, h.logits, pitch(p.vocab), false, nil)
	})
	per := max(1, 4096/max(p.vocab, 1)) // rows of a task
	h.rows = newLoop(blocks(p.chunk, per), nsExp*float64(per*p.vocab), func(t int) {
		for r := t * per; r < min((t+1)*per, h.held()); r++ {
			h.losses[r] = h.row(h.logits[r*pitch(p.vocab):][:p.vocab], h.targets[h.row0+r])
		}
	})
	return h
}

// held is how many rows the present chunk has.
func (h *head) held() int { return min(h.chunk, h.n-h.row0) }

// tasks is a loop over parts of a [chunk, n] product, cut at the rows that the present chunk has.
func (h *head) tasks(m, n, k int, fn func(i0, i1, j0, j1 int)) *loop {
	tm, tn := h.taskSize(m, n)
	columns := blocks(n, tn)
	return newLoop(blocks(m, tm)*columns, nsFLOP*2*float64(tm*tn*k), func(t int) {
		i, j := t/columns*tm, t%columns*tn
		if held := h.held(); i < held {
			fn(i, min(i+tm, held), j, min(j+tn, n))
		}
	})
}

// row returns one row's loss, and with gradients turns its logits z into theirs.
func (h *head) row(z []float32, target int32) float64 {
	if target < 0 {
		if h.dloss != nil {
			clear(z)
		}
		return 0
	}
	if h.softcap > 0 {
		softcap(z, z, h.softcap)
	}
	top := h.maximum(z)
	own := z[target]
	var sum float64
	switch {
	case h.softcap > 0 && h.dloss == nil:
		sum = sumExp(z, top)
	case h.softcap > 0:
		sum = h.cappedGradient(z, top, int(target))
	case h.dloss == nil:
		sum = h.expShifted(z, z, top)
	default:
		sum = h.gradient(z, top, int(target))
	}
	return float64(top) + math.Log(sum) - float64(own)
}

// slope is what every gradient of a logit is multiplied by.
func (h *head) slope() float32 { return h.dloss[0] / h.normaliser[0] }

// gradient sets z to the gradient of the raw logits and returns the sum of exp(z - top).
func (h *head) gradient(z []float32, top float32, target int) float64 {
	sum := h.expShifted(z, z, top)
	z[target] -= float32(sum) // (p - 1) sum
	h.tier.multiply(z, z, float32(1/sum)*h.slope())
	return sum
}

// cappedGradient is [head.gradient] for capped logits.
func (h *head) cappedGradient(z []float32, top float32, target int) float64 {
	scale := h.slope()
	sum := sumExp(z, top)
	inverse := float32(1 / sum)
	for j, v := range z {
		p, u := exp32(v-top)*inverse, v/h.softcap
		if j == target {
			p--
		}
		z[j] = p * (1 - u*u) * scale
	}
	return sum
}

// check wants every target to be a row of W, or negative.
func (h *head) check() error {
	for i, t := range h.targets {
		if int(t) >= h.vocab {
			return fmt.Errorf("%s: target %d at index %d is outside [0, %d) and not negative (ignored)", h.call.Kernel(), t, i, h.vocab)
		}
	}
	return nil
}

// run computes the loss, and calls after for every chunk, when its logits are treated.
func (h *head) run(loss []float32, after func()) error {
	if err := h.check(); err != nil {
		return err
	}
	if h.ready != nil && h.n > 0 {
		h.pool.run(h.ready)
	}
	var sum float64
	for h.row0 = 0; h.row0 < h.n; h.row0 += h.chunk {
		h.pool.run(h.multiply)
		h.pool.run(h.rows)
		for _, v := range h.losses[:h.held()] {
			sum += v
		}
		if after != nil {
			after()
		}
	}
	loss[0] = float32(sum / float64(h.normaliser[0]))
	return nil
}

func planHead(_ kernels.LinearCrossEntropy, a kernels.Args, s *scratch) (headPlan, error) {
	return planHeadOf(a, s), nil
}

func bindHead(b *Backend, c kernels.LinearCrossEntropy, a kernels.Args, p headPlan) kernels.Launch {
	h, loss := newHead(b, c, a, p, c.Softcap), a.Out[0].F32()
	return func() error { return h.run(loss, nil) }
}
