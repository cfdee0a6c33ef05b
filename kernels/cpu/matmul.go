package cpu

import "prenorm/kernels"

func init() { enterLoops(planMatMul, matMulLoops) }

// blocks is the number of blocks of the given size that cover n.
func blocks(n, size int) int { return (n + size - 1) / size }

// Costs on the vector tiers, in nanoseconds an element or operation: they decide whether a loop is worth offering to helpers.
const (
	nsCopy   = 0.2
	nsFLOP   = 0.01
	nsExp    = 0.6
	nsElem   = 0.2
	nsScalar = 8 // a function that is plain Go on every tier
)

// operand is one factor of a product: n (M or N) by k elements, stored [n, k] or, turned, [k, n], read where it lies or from a packed copy
// that each launch makes.
type operand struct {
	n, k   int
	ld     int       // distance between the rows that are stored
	byStep bool      // stored [k, n]
	w      int       // width of a panel
	copied []float32 // nil without a copy
}

// operandA is A of m rows, or stored by columns, ld apart.
func (t *tier) operandA(m, k, ld int, byStep bool) operand {
	return operand{n: m, k: k, ld: ld, byStep: byStep, w: t.rows}
}

// operandB is B of n columns, stored by them or, byStep, by rows, ld apart.
func (t *tier) operandB(n, k, ld int, byStep bool) operand {
	return operand{n: n, k: k, ld: ld, byStep: byStep, w: t.cols}
}

// Where packing pays. Tiles read an operand where it lies at full speed as long as what they return to stays near: a block of K of B's rows
// within the first level of page addresses, A's columns within the second cache, and A's rows at distances that do not crowd into few sets
// of a cache.
const (
	nearCols   = 512     // of B
	nearFloats = 1 << 18 // of A stored by columns, or of what stripes read together
	crowded    = 256     // rows at multiples of this many floats share sets, at four times as many nearly all
)

// paysA says whether A of a product with n columns is to be packed.
func (t *tier) paysA(a operand, n int) bool {
	pays := a.ld%crowded == 0 && n > nearCols || a.ld%(4*crowded) == 0 && n > nearCols/2
	if a.byStep {
		pays = a.n*a.k > nearFloats
	}
	return pays && a.n > t.rows
}

// paysB says whether B of a product with m rows is to be packed. Stored [k, n] it can be read where it lies.
func (t *tier) paysB(b operand, m int) bool {
	return !b.byStep || !t.readsB(b.n) || m > t.rows && (b.n > nearCols || b.k > 2*nearCols && m > b.n)
}

// copy has an operand packed as a whole, if that pays.
func (o operand) copy(pays bool, s *scratch) operand {
	if pays {
		o.copied = s.f32(packedSize(o.w, o.n, o.k))
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
		return t.rowsA(src, o.ld), nil
	case isA:
		return t.columnsA(src, o.ld), nil
	}
	return t.columnsB(src, o.ld), nil
}

func (o operand) packLoop(t *tier, f factor, src []float32) *loop {
	if o.byStep {
		per := packSteps * max(1, blocks(o.k, 16*packSteps))
		return newLoop(blocks(o.k, per), nsCopy*float64(per*o.n), func(i int) {
			t.packCopied(f, src, o.ld, o.n, i*per, min((i+1)*per, o.k))
		})
	}
	panels := blocks(o.n, o.w)
	per := max(1, blocks(panels, 16))
	return newLoop(blocks(panels, per), nsCopy*float64(per*o.w*o.k), func(i int) {
		t.packTurned(f, src, o.ld, o.n, o.k, i*per, min((i+1)*per, panels))
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

// productLoop is the loop of C[m,n] = A B over its tasks, each of which finishes its part. Rows of C are ldc apart.
func (t *tier) productLoop(m, n, k int, a, b factor, c []float32, ldc int, accumulate bool, e *epilogue) *loop {
	tm, tn := t.taskSize(m, n)
	cols := blocks(n, tn)
	return newLoop(blocks(m, tm)*cols, nsFLOP*2*float64(min(tm, m)*min(tn, n)*k), func(task int) {
		i, j := task/cols*tm, task%cols*tn
		t.productAt(i, min(i+tm, m), j, min(j+tn, n), k, a, b, c, ldc, accumulate, e)
	})
}

type matmulPlan struct {
	productPlan
	dots    bool
	partial []float32 // of the epilogue
}

func planMatMul(c kernels.MatMul, a kernels.Args, s *scratch) (p matmulPlan, err error) {
	p.m, p.n, p.k = c.Dims(a.In)
	if p.dots = c.TransB && p.m <= dotRows && (!c.TransA || p.m == 1); !p.dots {
		lda, ldb := p.k, p.n
		if c.TransA {
			lda = p.m
		}
		if c.TransB {
			ldb = p.k
		}
		p.productPlan = planProduct(s.tier.operandA(p.m, p.k, lda, c.TransA), s.tier.operandB(p.n, p.k, ldb, !c.TransB), p.n, s)
	}
	if c.Bias && c.Accumulate && (p.dots || p.k == 0 || p.k > blockK) { // tiles of one block hold their sums themselves
		p.partial = s.f32(p.m * p.n)
	}
	return p, nil
}

// epilogue is what a call does to its product, nil for nothing.
func (p matmulPlan) epilogue(c kernels.MatMul, a kernels.Args) *epilogue {
	if !c.Bias && !c.Residual {
		return nil
	}
	e := &epilogue{n: p.n, partial: p.partial}
	if c.Bias {
		e.bias = a.In[2].F32()
	}
	if c.Residual {
		e.residual = a.In[len(a.In)-1].F32()
	}
	if c.Accumulate { // after the bias
		e.residual = a.Out[0].F32()
	}
	return e
}

func matMulLoops(b *Backend, c kernels.MatMul, a kernels.Args, p matmulPlan) []*loop {
	t, x, w, y := b.tier, a.In[0].F32(), a.In[1].F32(), a.Out[0].F32()
	e, accumulate := p.epilogue(c, a), c.Accumulate && !c.Bias
	if p.dots {
		add, sums := 0, e.sums(y)
		if accumulate {
			add = 1
		}
		return []*loop{b.dotsLoop(dotsWork{p.m, p.n, p.k, 4 * p.k, y, e, accumulate, func(i, j, rows int) { t.dots(&sums[i*p.n+j], &x[i*p.k], &w[j*p.k], p.k, p.k, rows, add) }})}
	}
	return p.loops(t, x, w, y, accumulate, e)
}
