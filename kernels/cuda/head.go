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
	enter(planHead[kernels.LinearCrossEntropy], bindHead)
	enter(planHead[kernels.LinearCrossEntropyGrad], bindHeadGrad)
}

// headElements is the number of logits that are held at once, unless one row has more. A variable, so that a test can cut small problems.
var headElements = 1 << 25

// headPlan says how many rows have their logits at a time, and where the logits, the rows' losses and, for a gradient, the rows of x that
// count are.
type headPlan struct {
	chunk                     int
	logits, rowsLoss, counted uintptr
}

func planHead[C kernels.Call](_ C, a kernels.Args, s *scratch) (headPlan, error) {
	n, vocab := a.In[0].Dim(0), a.In[1].Dim(0)
	chunk := max(1, headElements/max(1, vocab))
	if chunk > 128 {
		chunk -= chunk % 128 // whole tiles
	}
	chunk = min(chunk, n)
	p := headPlan{chunk: chunk, logits: s.f32(chunk * vocab), rowsLoss: s.f32(n)}
	if len(a.Out) > 1 {
		p.counted = s.f32(chunk * a.In[0].Dim(1))
	}
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

// headChunks adds, for each chunk of rows: the logits; the rows' losses; and for the gradient, the logits' own gradient in their place, the
// rows of dx, and what the chunk adds to dW.
func (b *builder) headChunks(a kernels.Args, p headPlan, softcap float64, gradient bool) {
	n, columns, vocab := a.In[0].Dim(0), a.In[0].Dim(1), a.In[1].Dim(0)
	x, w := a.In[0].Dev, a.In[1].Dev
	dloss, flag := uintptr(0), 0
	if gradient {
		dloss, flag = a.In[4].Dev, 1
	}
	bad := b.bad("target", vocab, " and not negative (ignored)")
	for first := 0; first == 0 || first < n; first += p.chunk {
		rows := min(p.chunk, n-first)
		at := uintptr(4 * first * columns)
		b.matmul(kernels.MatMul{TransB: true}, p.logits, x+at, w, rows, vocab, columns)
		b.rows(heads, "head_rows", rows, 256, p.logits, p.rowsLoss, a.In[2], a.In[3], dloss, bad, first, vocab, float32(softcap), flag)
		if gradient {
			b.matmul(kernels.MatMul{}, a.Out[0].Dev+at, p.logits, w, rows, columns, vocab)
			b.elements(heads, "head_counted", rows*columns, p.counted, x+at, a.In[2].Dev+uintptr(4*first), columns, rows*columns)
			b.matmul(kernels.MatMul{TransA: true, Accumulate: first > 0}, a.Out[1].Dev, p.logits, p.counted, vocab, columns, rows)
		}
		if rows == 0 {
			return
		}
	}
}

func (b *builder) headLoss(loss kernels.View, a kernels.Args, p headPlan) {
	b.rows(heads, "head_loss", 1, 256, loss, p.rowsLoss, a.In[3], a.In[0].Dim(0))
}
