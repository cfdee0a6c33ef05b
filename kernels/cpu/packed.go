package cpu

import (
	"unsafe"

	"prenorm/kernels"
)

func init() {
	enterPlain(bindPackWeights)
	enterPlain(bindRoundWeights)
	enterLoops(planPackedMatMul, packedMatMulLoops)
}

// packedMatrix is a matrix in words, and in scales with [kernels.PackInt8].
type packedMatrix struct {
	packing       kernels.Packing
	words, scales []int32
	ldw, lds      int // words of a row
	k             int
}

func packedIn(p kernels.Packing, views []kernels.View, k int) packedMatrix {
	m := packedMatrix{packing: p, words: views[0].I32(), ldw: views[0].Dim(1), k: k}
	if p == kernels.PackInt8 {
		m.scales, m.lds = views[1].I32(), views[1].Dim(1)
	}
	return m
}

// row returns where row j begins. The matrix must have elements.
func (m *packedMatrix) row(j int) (w *byte, scales *uint16) {
	w = (*byte)(unsafe.Pointer(&m.words[j*m.ldw]))
	if m.scales != nil {
		scales = (*uint16)(unsafe.Pointer(&m.scales[j*m.lds]))
	}
	return w, scales
}

// dotsPacked is y[j] = x times row from+j, for n rows.
func (t *tier) dotsPacked(m *packedMatrix, y, x *float32, from, n int) {
	w, scales := m.row(from)
	t.packed[m.packing](y, x, w, 4*m.ldw, scales, 2*m.lds, m.k, n)
}

// widenRows fills rows of depth floats with elements from at on of n rows of a matrix; both are multiples of twice a run, the end apart.
func (t *tier) widenRows(m *packedMatrix, y []float32, from, n, at, depth int) {
	for j := range n {
		w, scales := m.row(from + j)
		row := y[j*depth:][:depth]
		if m.packing == kernels.PackBF16 {
			t.widenHalves(row, (*byte)(unsafe.Add(unsafe.Pointer(w), 2*at)))
		} else {
			t.expand(&row[0], (*byte)(unsafe.Add(unsafe.Pointer(w), at)), (*uint16)(unsafe.Add(unsafe.Pointer(scales), 2*at/kernels.PackRun)), depth/kernels.PackRun)
		}
	}
}

// packRows is the loop over rows of a matrix whose runs are packed.
func packRows(w kernels.View, fn func(row, i int, run []float32)) *loop {
	x, n, k := w.F32(), w.Dim(0), w.Dim(1)
	return rowSpans(n, k, nsScalar/2., func(lo, hi int) {
		for row := lo; row < hi; row++ {
			for i := range k / kernels.PackRun {
				fn(row, i, x[row*k+i*kernels.PackRun:][:kernels.PackRun])
			}
		}
	})
}

func bindPackWeights(b *Backend, c kernels.PackWeights, a kernels.Args) kernels.Launch {
	words, ldw := a.Out[0].I32(), a.Out[0].Dim(1)
	if c.Packing == kernels.PackBF16 {
		return b.run1(packRows(a.In[0], func(row, i int, run []float32) {
			to := words[row*ldw+i*kernels.PackRun/2:]
			for j := 0; j < len(run); j += 2 {
				to[j/2] = int32(uint32(kernels.ToBF16(run[j])) | uint32(kernels.ToBF16(run[j+1]))<<16)
			}
		}))
	}
	scales, lds := a.Out[1].I32(), a.Out[1].Dim(1)
	return b.run1(packRows(a.In[0], func(row, i int, run []float32) {
		scale := kernels.RunScale(run)
		to := words[row*ldw+i*kernels.PackRun/4:]
		for j := 0; j < len(run); j += 4 {
			word := uint32(0)
			for part, w := range run[j : j+4] {
				word |= uint32(uint8(kernels.RunInteger(w, scale))) << (8 * part)
			}
			to[j/4] = int32(word)
		}
		pair := &scales[row*lds+i/2]
		if i%2 == 0 {
			*pair = 0 // the upper half of a row's last word may be no run's
		}
		*pair |= int32(uint32(scale) << (16 * (i % 2)))
	}))
}

func bindRoundWeights(b *Backend, c kernels.RoundWeights, a kernels.Args) kernels.Launch {
	y, k := a.Out[0].F32(), a.In[0].Dim(1)
	return b.run1(packRows(a.In[0], func(row, i int, run []float32) {
		to := y[row*k+i*kernels.PackRun:]
		if c.Packing == kernels.PackBF16 {
			for j, w := range run {
				to[j] = kernels.FromBF16(kernels.ToBF16(w))
			}
			return
		}
		scale := kernels.RunScale(run)
		for j, w := range run {
			to[j] = float32(kernels.RunInteger(w, scale)) * kernels.FromBF16(scale)
		}
	}))
}

// packedPlan is how a product with a packed matrix is computed: few rows as dot products, which read the matrix where it lies and once for all of
// them, more rows by stripes.
type packedPlan struct {
	m, n, k int
	dots    bool
	a       operand
	stripes *stripePlan
}

func planPackedMatMul(c kernels.PackedMatMul, a kernels.Args, s *scratch) (p packedPlan, err error) {
	p.m, p.n, p.k = c.Dims(a.In)
	if p.dots = p.m <= dotRows || p.k == 0; !p.dots {
		a := s.tier.operandA(p.m, p.k, p.k, false)
		p.a = a.copy(s.tier.paysA(a, p.n), s)
		p.stripes = planStripes(p.m, p.n, p.k, p.n, false, true, s)
	}
	return p, nil
}

func packedMatMulLoops(b *Backend, c kernels.PackedMatMul, a kernels.Args, p packedPlan) []*loop {
	t, x, y := b.tier, a.In[0].F32(), a.Out[0].F32()
	w := packedIn(c.Packing, a.In[1:], p.k)
	bias, residual := c.Addends(a.In)
	var e *epilogue
	if c.Bias || c.Residual {
		e = &epilogue{n: p.n}
		if c.Bias {
			e.bias = bias.F32()
		}
		if c.Residual {
			e.residual = residual.F32()
		}
	}
	if p.dots {
		return []*loop{b.dotsLoop(dotsWork{p.m, p.n, p.k, 4*w.ldw + 4*w.lds, y, e, false, func(i, j, rows int) { t.dotsPacked(&w, &y[i*p.n+j], &x[i*p.k], j, rows) }})}
	}
	fa, packA := p.a.ready(t, x, true)
	multiply := p.stripes.loops(t, fa, factor{}, y, e, false, stripeSource{pack: func(f factor, wide []float32, from, to, at, depth int) {
		for j := from; j < to; j += t.cols {
			n := min(t.cols, to-j)
			t.widenRows(&w, wide, j, n, at, depth)
			panel := f
			panel.x = f.x[(j-from)/t.cols*f.panel:]
			t.packTurned(panel, wide, depth, n, depth, 0, 1)
		}
	}})
	if packA != nil {
		multiply = append([]*loop{packA}, multiply...)
	}
	return multiply
}
