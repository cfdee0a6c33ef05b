package ref

import (
	"fmt"
	"math"

	"prenorm/kernels"
)

func init() {
	define(definition[kernels.LinearCrossEntropy]{
		f32: bindLinearCrossEntropy[float32], f64: bindLinearCrossEntropy[float64],
		workspace: func(_ kernels.LinearCrossEntropy, a kernels.Args) int { return a.In[1].Dim(0) },
	})
	define(definition[kernels.LinearCrossEntropyGrad]{
		f32: bindLinearCrossEntropyGrad[float32], f64: bindLinearCrossEntropyGrad[float64],
		workspace: func(_ kernels.LinearCrossEntropyGrad, a kernels.Args) int {
			return a.In[1].Dim(0) + a.In[0].Dim(0) + a.In[0].Dim(1)
		},
	})
}

// head is the language-model head: its input, its matrix and its targets. z is room for the logits of one row.
type head[F float] struct {
	x, w           []F // [N, C], [V, C]
	targets        []int32
	normaliser     []F
	vocab, columns int
	softcap        float64
	z              []float64 // [V]
}

func headOf[F float](in []kernels.View, softcap float64, z []float64) *head[F] {
	return &head[F]{
		x: of[F](in[0]), w: of[F](in[1]), targets: in[2].I32(), normaliser: of[F](in[3]),
		vocab: in[1].Dim(0), columns: in[1].Dim(1), softcap: softcap, z: z,
	}
}

// check wants every target to be a row of the matrix, or negative.
func (h *head[F]) check(name string) error {
	for i, t := range h.targets {
		if int(t) >= h.vocab {
			return fmt.Errorf("%s: target %d at index %d is outside [0, %d) and not negative (ignored)", name, t, i, h.vocab)
		}
	}
	return nil
}

// logit is z[i, v] = x[i]·W[v], capped.
func (h *head[F]) logit(i, v int) float64 {
	return capped(dot(row(h.x, i, h.columns), row(h.w, v, h.columns)), h.softcap)
}

// logits sets z to the logits of row i and returns their log-sum-exp.
func (h *head[F]) logits(i int) float64 {
	top := math.Inf(-1)
	for v := range h.z {
		h.z[v] = h.logit(i, v)
		top = math.Max(top, h.z[v])
	}
	sum := 0.0
	for v := range h.z {
		sum += math.Exp(h.z[v] - top)
	}
	return top + math.Log(sum)
}

// loss is the sum over targets of (logsumexp(z) - z[target]) / normaliser. visit, where it is not nil, sees every row's log-sum-exp
// while z still holds the row.
func (h *head[F]) loss(visit func(i int, lse float64)) F {
	sum := 0.0
	for i, t := range h.targets {
		if t < 0 {
			continue
		}
		lse := h.logits(i)
		sum += lse - h.z[t]
		if visit != nil {
			visit(i, lse)
		}
	}
	return F(sum / float64(h.normaliser[0]))
}

func bindLinearCrossEntropy[F float](c kernels.LinearCrossEntropy, v kernels.Args) kernels.Launch {
	h := headOf[F](v.In, c.Softcap, scratch(v.Work, v.In[1].Dim(0))[0])
	loss := of[F](v.Out[0])
	return func() error {
		if err := h.check(c.Kernel()); err != nil {
			return err
		}
		loss[0] = h.loss(nil)
		return nil
	}
}

// headGradient adds the outputs of the backward pass: lse of every row, and room for one row of a gradient.
type headGradient[F float] struct {
	*head[F]
	dx, dw, dloss []F
	lse, sum      []float64 // [N], [C]
}

// slope is the derivative of the loss, times dloss, by the uncapped logit v of row i, where z is the capped one.
func (g *headGradient[F]) slope(i, v int, z float64) float64 {
	p := math.Exp(z - g.lse[i])
	if int(g.targets[i]) == v {
		p--
	}
	return p * cappedSlope(z, g.softcap) * float64(g.dloss[0]) / float64(g.normaliser[0])
}

// row sets row i of dx, the sum over v of slope(i, v) W[v], from the logits in z.
func (g *headGradient[F]) row(i int, lse float64) {
	g.lse[i] = lse
	clear(g.sum)
	for v, z := range g.z {
		d := g.slope(i, v, z)
		for c, w := range row(g.w, v, g.columns) {
			g.sum[c] += d * float64(w)
		}
	}
	store(row(g.dx, i, g.columns), g.sum)
}

// matrix sets dW, whose row v is the sum over i of slope(i, v) x[i]. It computes each logit once more.
func (g *headGradient[F]) matrix() {
	for v := range g.vocab {
		clear(g.sum)
		for i, t := range g.targets {
			if t < 0 {
				continue
			}
			d := g.slope(i, v, g.logit(i, v))
			for c, x := range row(g.x, i, g.columns) {
				g.sum[c] += d * float64(x)
			}
		}
		store(row(g.dw, v, g.columns), g.sum)
	}
}

func bindLinearCrossEntropyGrad[F float](c kernels.LinearCrossEntropyGrad, v kernels.Args) kernels.Launch {
	n, columns, vocab := v.In[0].Dim(0), v.In[0].Dim(1), v.In[1].Dim(0)
	parts := scratch(v.Work, vocab, n, columns)
	g := &headGradient[F]{
		head: headOf[F](v.In, c.Softcap, parts[0]),
		dx:   of[F](v.Out[0]), dw: of[F](v.Out[1]), dloss: of[F](v.In[4]), lse: parts[1], sum: parts[2],
	}
	loss, visit := of[F](v.Out[2]), g.row
	return func() error {
		if err := g.check(c.Kernel()); err != nil {
			return err
		}
		clear(g.dx) // rows whose target is ignored
		loss[0] = g.loss(visit)
		g.matrix()
		return nil
	}
}
