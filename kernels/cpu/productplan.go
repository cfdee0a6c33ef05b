package cpu

import "prenorm/kernels"

// productPlan is how C[m,n] = A B, of k terms, is computed: where its operands are read and who packs them.
type productPlan struct {
	m, n, k, ldc int // rows of C are ldc apart
	a, b         operand
	stripes      *stripePlan // nil = tasks share what is packed
}

// planProduct has the larger operand packed by stripes and the smaller one as a whole, each where packing pays.
func planProduct(a, b operand, ldc int, s *scratch) productPlan {
	t, m, n, k := s.tier, a.n, b.n, a.k
	p := productPlan{m: m, n: n, k: k, ldc: ldc}
	paysA, paysB := t.paysA(a, n), t.paysB(b, m)
	ofA, ofB := paysA && m > n, paysB && m <= n
	if (ofA || ofB) && k > 0 {
		p.stripes = planStripes(m, n, k, ldc, ofA, false, s)
	}
	p.a, p.b = a.copy(paysA && !ofA, s), b.copy(paysB && !ofB, s)
	return p
}

// loops are the product of x and w in y: they run one after the other.
func (p *productPlan) loops(t *tier, x, w, y []float32, accumulate bool, e *epilogue) []*loop {
	a, packA := p.a.ready(t, x, true)
	b, packB := p.b.ready(t, w, false)
	var all []*loop
	for _, pack := range []*loop{packA, packB} {
		if pack != nil {
			all = append(all, pack)
		}
	}
	switch {
	case p.stripes == nil:
		return append(all, t.productLoop(p.m, p.n, p.k, a, b, y, p.ldc, accumulate, e))
	case p.stripes.ofA:
		return append(all, p.stripes.loops(t, factor{}, b, y, e, accumulate, p.a.stripes(t, x))...)
	}
	return append(all, p.stripes.loops(t, a, factor{}, y, e, accumulate, p.b.stripes(t, w))...)
}

// runAll is a launch of loops one after the other.
func (b *Backend) runAll(all []*loop) kernels.Launch {
	return func() error {
		b.pool.runAll(all)
		return nil
	}
}
