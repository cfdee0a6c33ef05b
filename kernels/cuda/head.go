//go:build gpu

package cuda

import (
	_ "embed" // the PTX files

	"prenorm/kernels"
)

//go:embed head.ptx
var headPTX string

var heads = &module{"head", headPTX}

func init() {
	narrowed(kernels.LinearCrossEntropy{}, kernels.LinearCrossEntropyGrad{})
	enter(planHead[kernels.LinearCrossEntropy], bindHead)
	enter(planHead[kernels.LinearCrossEntropyGrad], bindHeadGrad)
}

// headElements is the number of logits that are held at once, unless one row has more. A variable, so that a test can cut small problems.
var headElements = 1 << 25

// headPlan says how many rows have their logits at a time, and where the logits, their gradient, the rows' losses, the rows of x that count
// and the slices of products are. Rows of logits begin at multiples of 16 bytes, whatever the vocabulary.
type headPlan struct {
	rows, columns, vocab int
	chunk                int
	ld, pitch            int // distances of rows of logits and of their gradient
	logits, gradient     uintptr
	rowsLoss, counted    uintptr
	sums                 uintptr
}

func planHead[C kernels.Call](_ C, a kernels.Args, s *scratch) (headPlan, error) {
	x := a.In[0]
	p := headPlan{rows: x.Dim(0), columns: x.Dim(1), vocab: a.In[1].Dim(0)}
	p.chunk = max(1, headElements/max(1, p.vocab))
	if p.chunk > 128 {
		p.chunk -= p.chunk % 128 // whole tiles
	}
	p.chunk = min(p.chunk, p.rows)
	p.ld = ceil(p.vocab, 4) * 4
	p.logits, p.rowsLoss = s.f32(p.chunk*p.ld), s.f32(p.rows)
	if len(a.Out) == 1 {
		return p, nil
	}
	p.gradient, p.pitch = p.logits, p.ld // in the place of the logits
	if x.DType == kernels.BF16 {
		p.pitch = ceil(p.vocab, 8) * 8
		p.gradient = s.take(2 * p.chunk * p.pitch)
	}
	p.counted = s.take(x.DType.Size() * p.chunk * p.columns)
	last := p.rows
	if p.chunk > 0 {
		last = (p.rows-1)%p.chunk + 1
	}
	partial := 0
	for _, rows := range []int{p.chunk, last} {
		partial = max(partial, p.dx(a, 0, rows).partial(), p.dw(a, 0, rows).partial())
	}
	p.sums = s.f32(partial)
	return p, nil
}

func bindHead(b *builder, c kernels.LinearCrossEntropy, a kernels.Args, p headPlan) {
	b.headChunks(a, p, c.Softcap, false)
	b.headLoss(a.Out[0], a, p)
}

func bindHeadGrad(b *builder, c kernels.LinearCrossEntropyGrad, a kernels.Args, p headPlan) {
	b.headChunks(a, p, c.Softcap, true)
	b.headLoss(a.Out[2], a, p)
}

// z is the product that makes the logits of a chunk of rows. It is not cut, so that a loss does not depend on the size of chunks.
func (p headPlan) z(a kernels.Args, first, rows int) *product {
	c := newProduct(kernels.MatMul{TransB: true}, kernels.View{Dev: p.logits}, rowsFrom(a.In[0], first), a.In[1])
	c.m, c.n, c.k, c.lda, c.ldb, c.ldc, c.whole = rows, p.vocab, p.columns, p.columns, p.columns, p.ld, true
	return c
}

// dx is the product that makes a chunk's rows of dx from the gradient of its logits.
func (p headPlan) dx(a kernels.Args, first, rows int) *product {
	c := newProduct(kernels.MatMul{}, rowsFrom(a.Out[0], first), kernels.View{Dev: p.gradient, DType: a.In[0].DType}, a.In[1])
	c.m, c.n, c.k, c.lda, c.ldb, c.ldc, c.sums = rows, p.columns, p.vocab, p.pitch, p.columns, p.columns, p.sums
	return c
}

// dw is the product that makes what a chunk adds to dW, which is summed over chunks in float32.
func (p headPlan) dw(a kernels.Args, first, rows int) *product {
	operand := func(at uintptr) kernels.View { return kernels.View{Dev: at, DType: a.In[0].DType} }
	c := newProduct(kernels.MatMul{TransA: true, Accumulate: first > 0}, a.Out[1], operand(p.gradient), operand(p.counted))
	c.m, c.n, c.k, c.lda, c.ldb, c.ldc, c.sums = p.vocab, p.columns, rows, p.pitch, p.columns, p.columns, p.sums
	return c
}

// rowsFrom is a matrix, or a vector, from one of its rows on.
func rowsFrom(v kernels.View, first int) kernels.View {
	v.Dev += uintptr(first * (v.Len() / max(1, v.Dim(0))) * v.DType.Size())
	return v
}

// headChunks adds, for each chunk of rows: the logits; the rows' losses; and for the gradient, the logits' own gradient, the rows of dx, those
// of x that count, and what the chunk adds to dW.
func (b *builder) headChunks(a kernels.Args, p headPlan, softcap float64, gradient bool) {
	suffix, dloss := "_"+a.In[0].DType.String(), uintptr(0)
	if gradient {
		dloss = a.In[4].Dev
	}
	bad := b.bad("target", p.vocab, " and not negative (ignored)")
	for first := 0; first == 0 || first < p.rows; first += p.chunk {
		rows := min(p.chunk, p.rows-first)
		b.multiply(p.z(a, first, rows))
		b.rows(heads, "head_rows"+suffix, rows, 256, p.logits, p.gradient, p.rowsLoss, a.In[2], a.In[3], dloss, bad, first, p.vocab, p.ld, p.pitch, float32(softcap))
		if gradient {
			b.multiply(p.dx(a, first, rows))
			dx := rowsFrom(a.Out[0], first)
			b.rows(heads, "head_counted"+suffix, rows, 128, p.counted, dx, rowsFrom(a.In[0], first), rowsFrom(a.In[2], first), p.columns, p.columns*dx.DType.Size()/2)
			b.multiply(p.dw(a, first, rows))
		}
		if rows == 0 {
			return
		}
	}
}

func (b *builder) headLoss(loss kernels.View, a kernels.Args, p headPlan) {
	b.rows(heads, "head_loss", 1, 256, loss, p.rowsLoss, a.In[3], a.In[0].Dim(0))
}
