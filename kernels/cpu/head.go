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

// Bounds on a chunk: its logits should fit into 4 MiB, but every chunk reads all of W, and reads and writes all of its gradient, which takes as
// long as multiplying by a few ten rows.
const (
	chunkFloats = 1 << 20
	chunkMin    = 256
)

func chunkRows(n, vocab int) int { return min(n, max(chunkMin, chunkFloats/max(vocab, 1)&^15)) }

// headPlan is the shared part: one chunk of logits, the losses of its rows, and the product of a chunk with W. The last chunk may have fewer
// rows: it has products of its own, in the same workspace.
type headPlan struct {
	n, vocab, width, chunk int
	logits                 []float32 // [chunk, pitch(V)]
	losses                 []float64 // [chunk]
	products               map[int]headProducts
}

// headProducts are the products of a chunk, by its rows.
type headProducts struct {
	logits productPlan // [rows, V]
	dx     productPlan // [rows, C]
	dw     productPlan // [V, C]
	clean  []float32   // [rows, C], of x
}

// sizes are the rows that chunks have.
func (p *headPlan) sizes() []int {
	if rest := p.n % max(p.chunk, 1); rest > 0 {
		return []int{p.chunk, rest}
	}
	return []int{p.chunk}
}

func planHeadOf(a kernels.Args, gradients bool, s *scratch) headPlan {
	p := headPlan{n: a.In[0].Dim(0), vocab: a.In[1].Dim(0), width: a.In[0].Dim(1), products: map[int]headProducts{}}
	p.chunk = chunkRows(p.n, p.vocab)
	p.logits, p.losses = s.f32(p.chunk*pitch(p.vocab)), s.f64(p.chunk)
	var sizes []func()
	for _, m := range p.sizes() {
		sizes = append(sizes, func() { p.products[m] = p.planChunk(m, gradients, s) })
	}
	s.oneOf(sizes...)
	return p
}

// planChunk plans the products of m rows, one after the other.
func (p *headPlan) planChunk(m int, gradients bool, s *scratch) (c headProducts) {
	t, ld := s.tier, pitch(p.vocab)
	plans := []func(){func() {
		c.logits = planProduct(t.operandA(m, p.width, p.width, false), t.operandB(p.vocab, p.width, p.width, false), ld, s)
	}}
	if gradients {
		plans = append(plans, func() {
			c.dx = planProduct(t.operandA(m, p.vocab, ld, false), t.operandB(p.width, p.vocab, p.width, true), p.width, s)
		}, func() {
			c.clean = s.f32(m * p.width)
			c.dw = planProduct(t.operandA(p.vocab, m, ld, true), t.operandB(p.width, m, p.width, true), p.width, s)
		})
	}
	s.oneOf(plans...)
	return c
}

// head is a bound head.
type head struct {
	headPlan
	*tier
	call              kernels.Call
	pool              *pool
	targets           []int32
	normaliser, dloss []float32 // dloss is nil without gradients
	softcap           float32
	chunks            []headChunk
}

// headChunk are the loops of a chunk: its losses are there after all of them.
type headChunk struct {
	rows  int
	loops []*loop
}

// newHead binds a head; gradients says whether the call wants them, in its first two outputs.
func newHead(b *Backend, c kernels.Call, a kernels.Args, p headPlan, limit float64, gradients bool) *head {
	h := &head{headPlan: p, tier: b.tier, call: c, pool: b.pool, targets: a.In[2].I32(), normaliser: a.In[3].F32(), softcap: float32(limit)}
	x, w := a.In[0].F32(), a.In[1].F32()
	if gradients {
		h.dloss = a.In[4].F32()
	}
	for row := 0; row < p.n; row += p.chunk {
		m := min(p.chunk, p.n-row)
		at, targets, products := row*p.width, h.targets[row:][:m], p.products[m]
		loops := products.logits.loops(h.tier, x[at:], w, h.logits, false, nil)
		loops = append(loops, h.rows(targets))
		if gradients {
			loops = append(loops, h.gradX(products, targets, w, a.Out[0].F32()[at:])...)
			loops = append(loops, h.gradW(products, targets, x[at:], a.Out[1].F32(), row > 0)...)
		}
		h.chunks = append(h.chunks, headChunk{m, loops})
	}
	return h
}

// rows is the loop over the rows of a chunk.
func (h *head) rows(targets []int32) *loop {
	per := max(1, 4096/max(h.vocab, 1)) // rows of a task
	return newLoop(blocks(len(targets), per), nsExp*float64(per*h.vocab), func(t int) {
		for r := t * per; r < min((t+1)*per, len(targets)); r++ {
			h.losses[r] = h.row(h.logits[r*pitch(h.vocab):][:h.vocab], targets[r])
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

// run computes the loss, and the gradients that are wanted.
func (h *head) run(loss []float32) error {
	if err := h.check(); err != nil {
		return err
	}
	var sum float64
	for _, c := range h.chunks {
		h.pool.runAll(c.loops)
		for _, v := range h.losses[:c.rows] {
			sum += v
		}
	}
	loss[0] = float32(sum / float64(h.normaliser[0]))
	return nil
}

func planHead(_ kernels.LinearCrossEntropy, a kernels.Args, s *scratch) (headPlan, error) {
	return planHeadOf(a, false, s), nil
}

func bindHead(b *Backend, c kernels.LinearCrossEntropy, a kernels.Args, p headPlan) kernels.Launch {
	h, loss := newHead(b, c, a, p, c.Softcap, false), a.Out[0].F32()
	return func() error { return h.run(loss) }
}
