package cpu

import "prenorm/kernels"

func init() { enter(planMatMul, bindMatMul) }

// blocks is the number of blocks of the given size that cover n.
func blocks(n, size int) int { return (n + size - 1) / size }

// Costs that decide whether a loop is worth offering to helpers, in nanoseconds an element or operation.
const (
	nsCopy = 0.3
	nsFLOP = 0.01
	nsExp  = 5
	nsElem = 1
)

// operand is one factor of a product: n (M or N) by k elements, stored [n, k] or, turned, [k, n], read where it lies or from a packed copy
// that each launch makes.
type operand struct {
	n, k   int
	byStep bool      // stored [k, n]
	w      int       // width of a panel
	copied []float32 // nil without a copy
}

// planA plans A. Reading it where it lies costs nothing, except that rows at a distance of a multiple of 1024 bytes crowd into few sets of
// a cache.
func planA(n, k int, byStep bool, s *scratch) operand {
	o := operand{n: n, k: k, byStep: byStep, w: s.tier.rows}
	if !byStep && k%256 == 0 && n > s.tier.rows {
		o.copied = s.f32(packedSize(o.w, n, k))
	}
	return o
}

// planB plans B. Stored [k, n] it can be read where it lies.
func planB(n, k int, byStep bool, s *scratch) operand {
	o := operand{n: n, k: k, byStep: byStep, w: s.tier.cols}
	if !byStep || !s.tier.readsB(n) {
		o.copied = s.f32(packedSize(o.w, n, k))
	}
	return o
}

func (o operand) packs() bool { return len(o.copied) > 0 && o.k > 0 }

// ready returns the factor in src, and the loop that packs it, nil when it is read where it lies.
func (o operand) ready(t *tier, src []float32, isA bool) (factor, *loop) {
	if o.packs() {
		f := packed(o.copied, o.w, o.k)
		return f, o.packLoop(t, f, src)
	}
	switch {
	case isA && !o.byStep:
		return t.rowsA(src, o.k), nil
	case isA:
		return t.columnsA(src, o.n), nil
	}
	return t.columnsB(src, o.n), nil
}

func (o operand) packLoop(t *tier, f factor, src []float32) *loop {
	fill, ld := t.packTurn, o.k
	if o.byStep {
		fill, ld = t.packCopy, o.n
	}
	panels := blocks(o.n, o.w)
	per := max(1, blocks(panels, 16))
	return newLoop(blocks(panels, per), nsCopy*float64(per*o.w*o.k), func(i int) {
		f.pack(fill, src, ld, !o.byStep, o.n, o.k, i*per, min((i+1)*per, panels))
	})
}

// Bounds of a task of a product: panels of A and B of that size stay in a core's second cache, and fewer tasks than taskCount would keep
// workers waiting for the last one.
const (
	taskRows  = 192
	taskCols  = 256
	taskCount = 16
)

// taskSize cuts a product into tasks, whole tiles but for the edges.
func (t *tier) taskSize(m, n int) (tm, tn int) {
	tm, tn = t.rows*blocks(min(max(m, 1), taskRows), t.rows), t.cols*blocks(min(max(n, 1), taskCols), t.cols)
	for blocks(m, tm)*blocks(n, tn) < taskCount {
		switch {
		case tm >= 4*t.rows:
			tm = t.rows * blocks(tm/2, t.rows)
		case tn >= 2*t.cols:
			tn = t.cols * blocks(tn/2, t.cols)
		default:
			return tm, tn
		}
	}
	return tm, tn
}

// productLoop is the loop of C[m,n] = A B over its tasks.
func (t *tier) productLoop(m, n, k int, a, b factor, c []float32, ldc int, accumulate bool) *loop {
	tm, tn := t.taskSize(m, n)
	cols := blocks(n, tn)
	return newLoop(blocks(m, tm)*cols, nsFLOP*2*float64(min(tm, m)*min(tn, n)*k), func(task int) {
		i, j := task/cols*tm, task%cols*tn
		t.productAt(i, min(i+tm, m), j, min(j+tn, n), k, a, b, c, ldc, accumulate)
	})
}

// dotRows is the number of rows of x up to which x Wᵀ is computed by dot products: they read W where it lies, and packing it first would
// cost more than multiplying.
const dotRows = 4

// dotsLoop is the loop of y[m,n] = x[m,k] w[n,k]ᵀ over blocks of rows of w, each read once from memory.
func (t *tier) dotsLoop(m, n, k int, x, w, y []float32, accumulate bool) *loop {
	per := max(8, min(64, blocks(n, 64)*8))
	add := 0
	if accumulate {
		add = 1
	}
	return newLoop(blocks(n, per), nsFLOP*10*float64(m*per*k), func(task int) {
		j := task * per
		rows := min(per, n-j)
		for i := range m {
			if k == 0 {
				for r := range rows {
					put(y, i*n+j+r, 0, add)
				}
				continue
			}
			t.dots(&y[i*n+j], &x[i*k], &w[j*k], k, k, rows, add)
		}
	})
}

type matmulPlan struct {
	m, n, k int
	dots    bool
	a, b    operand
}

func planMatMul(c kernels.MatMul, a kernels.Args, s *scratch) (p matmulPlan, err error) {
	p.m, p.n, p.k = c.Dims(a.In)
	p.dots = c.TransB && p.m <= dotRows && (!c.TransA || p.m == 1)
	if !p.dots {
		p.a = planA(p.m, p.k, c.TransA, s)
		p.b = planB(p.n, p.k, !c.TransB, s)
	}
	return p, nil
}

func bindMatMul(b *Backend, c kernels.MatMul, a kernels.Args, p matmulPlan) kernels.Launch {
	t, x, w, y := b.tier, a.In[0].F32(), a.In[1].F32(), a.Out[0].F32()
	if p.dots {
		return b.run1(t.dotsLoop(p.m, p.n, p.k, x, w, y, c.Accumulate))
	}
	fa, packA := p.a.ready(t, x, true)
	fb, packB := p.b.ready(t, w, false)
	multiply := t.productLoop(p.m, p.n, p.k, fa, fb, y, p.n, c.Accumulate)
	return func() error {
		if packA != nil {
			b.pool.run(packA)
		}
		if packB != nil {
			b.pool.run(packB)
		}
		b.pool.run(multiply)
		return nil
	}
}
