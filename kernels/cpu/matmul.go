package cpu

import "prenorm/kernels"

func init() { enter(planMatMul, bindMatMul) }

// operand is one factor of a product: width (M or N) rows of K elements in the form that [productNT] reads, either the caller's memory or a
// copy of it made at each launch.
type operand struct {
	rows, k int
	trans   bool // stored [k, rows]
	must    bool // a copy is wanted when the rows are not aligned
	copied  []float32
	pitch   int // of the copy
}

// planOperand takes the workspace of the copy. What B's alignment will be is not known yet, so B always gets its place.
func planOperand(rows, k int, trans, isB bool, s *scratch) operand {
	o := operand{rows: rows, k: k, trans: trans, must: isB, pitch: pitch(k)}
	if trans || isB {
		o.copied = s.f32(rows * o.pitch)
	}
	return o
}

// ready returns the operand to multiply with, its pitch, and the loop that copies it, nil when it is used where it lies.
func (o operand) ready(src []float32) (x []float32, ld int, prepare *loop) {
	if !o.trans && (!o.must || aligned(src, o.k)) {
		return src, o.k, nil
	}
	return o.copied, o.pitch, o.copyLoop(src)
}

// copyLoop copies src, the whole stored matrix.
func (o operand) copyLoop(src []float32) *loop {
	const stripe = 64 // rows of the stored matrix that a task copies
	if o.trans {
		return newLoop(blocks(o.k, stripe), nsCopy*float64(stripe*o.rows), func(t int) {
			at := t * stripe
			transpose(o.copied[at:], o.pitch, src[at*o.rows:], o.rows, min(stripe, o.k-at), o.rows)
		})
	}
	return newLoop(blocks(o.rows, stripe), nsCopy*float64(stripe*o.k), func(t int) {
		at := t * stripe
		copyRows(o.copied[at*o.pitch:], o.pitch, src[at*o.k:], o.k, min(stripe, o.rows-at), o.k)
	})
}

// blocks is the number of blocks of the given size that cover n.
func blocks(n, size int) int { return (n + size - 1) / size }

// Costs that decide whether a loop is worth offering to helpers, in nanoseconds an element or operation.
const (
	nsCopy = 0.7
	nsFLOP = 0.1
	nsExp  = 5
	nsElem = 1
)

// productLoop is the loop of C[m,n] = A Bᵀ over tiles.
func productLoop(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, accumulate bool) *loop {
	tm, tn := tileSize(m, n)
	cols := blocks(n, tn)
	return newLoop(blocks(m, tm)*cols, nsFLOP*2*float64(tm*tn*k), func(t int) {
		i, j := t/cols*tm, t%cols*tn
		productNT(min(tm, m-i), min(tn, n-j), k, a[i*lda:], lda, b[j*ldb:], ldb, c[i*ldc+j:], ldc, accumulate)
	})
}

// tileSize is 64 x 64, cut smaller until a product has 16 tasks, so that the last task does not keep the others waiting long.
func tileSize(m, n int) (tm, tn int) {
	tm, tn = min(tile, max(m, 1)), tile
	for blocks(m, tm)*blocks(n, tn) < 16 {
		switch {
		case tm > 16 && tm >= tn:
			tm /= 2
		case tn > 16:
			tn /= 2
		default:
			return tm, tn
		}
	}
	return tm, tn
}

type matmulPlan struct {
	m, n, k int
	a, b    operand
}

func planMatMul(c kernels.MatMul, a kernels.Args, s *scratch) (p matmulPlan, err error) {
	p.m, p.n, p.k = c.Dims(a.In)
	p.a = planOperand(p.m, p.k, c.TransA, false, s)
	p.b = planOperand(p.n, p.k, !c.TransB, true, s)
	return p, nil
}

func bindMatMul(b *Backend, c kernels.MatMul, a kernels.Args, p matmulPlan) kernels.Launch {
	x, ldx, prepareA := p.a.ready(a.In[0].F32())
	w, ldw, prepareB := p.b.ready(a.In[1].F32())
	product := productLoop(p.m, p.n, p.k, x, ldx, w, ldw, a.Out[0].F32(), p.n, c.Accumulate)
	return func() error {
		if prepareA != nil {
			b.pool.run(prepareA)
		}
		if prepareB != nil {
			b.pool.run(prepareB)
		}
		b.pool.run(product)
		return nil
	}
}
