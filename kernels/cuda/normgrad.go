//go:build gpu

package cuda

import (
	_ "embed" // the PTX files

	"prenorm/kernels"
)

//go:embed normgrad.ptx
var normGradPTX string

var normGrads = &module{"normgrad", normGradPTX}

func init() {
	narrowed(kernels.RMSNormGrad{}, kernels.LayerNormGrad{}, kernels.AddRMSNormGrad{}, kernels.AddLayerNormGrad{})
	enter(planNormGrad[kernels.RMSNormGrad], func(b *builder, c kernels.RMSNormGrad, a kernels.Args, p normGradPlan) {
		b.rmsNormGrad("rmsnorm_grad", kernels.AddRMSNormGrad(c), a, p)
	})
	enter(planNormGrad[kernels.AddRMSNormGrad], func(b *builder, c kernels.AddRMSNormGrad, a kernels.Args, p normGradPlan) {
		b.rmsNormGrad("add_rmsnorm_grad", c, a, p)
	})
	enter(planNormGrad[kernels.LayerNormGrad], func(b *builder, c kernels.LayerNormGrad, a kernels.Args, p normGradPlan) {
		b.layerNormGrad("layernorm_grad", kernels.AddLayerNormGrad(c), a, p)
	})
	enter(planNormGrad[kernels.AddLayerNormGrad], func(b *builder, c kernels.AddLayerNormGrad, a kernels.Args, p normGradPlan) {
		b.layerNormGrad("add_layernorm_grad", c, a, p)
	})
}

// normGradPlan is the workspace of a gradient: statistics, when they are not given, and partial sums of the parameters' gradients, one array
// behind the other.
type normGradPlan struct {
	rows, d    int
	strips     strips
	mean, rstd uintptr
	sums       uintptr
}

// normStrips cuts rows into at most 512 strips of at least 32 rows, all but the last multiples of 32: what a block of teams treats at once
// divides it. The strips are those of every way to treat the rows, so that workspace depends on shapes alone.
func normStrips(rows int) strips {
	each := 32 * max(1, ceil(rows, 512*32))
	return strips{ceil(rows, each), each}
}

func planNormGrad[C kernels.Call](_ C, a kernels.Args, s *scratch) (normGradPlan, error) {
	p := normGradPlan{rows: a.In[0].Len() / a.In[1].Len(), d: a.In[1].Len()}
	p.strips = normStrips(p.rows)
	if len(a.Saved) == 0 {
		p.mean, p.rstd = s.f32(p.rows), s.f32(p.rows)
	}
	p.sums = s.f32(len(a.Out[1:]) * p.strips.count * p.d)
	return p, nil
}

func (b *builder) rmsNormGrad(name string, c kernels.AddRMSNormGrad, a kernels.Args, p normGradPlan) {
	g := normGrad{name: name, x: a.In[0], gain: a.In[1], dy: a.In[2], past: a.In[3:], rstd: p.rstd, unit: c.UnitOffset}
	if len(a.Saved) > 0 {
		g.rstd = a.Saved[0].Dev
	} else {
		b.norm(norm{name: "rmsnorm", rstd: g.rstd, x: g.x, gain: g.gain, eps: c.Eps, unit: c.UnitOffset})
	}
	b.normGrad(g, a.Out, p)
}

func (b *builder) layerNormGrad(name string, c kernels.AddLayerNormGrad, a kernels.Args, p normGradPlan) {
	g := normGrad{name: name, x: a.In[0], gain: a.In[1], dy: a.In[3], past: a.In[4:], mean: p.mean, rstd: p.rstd, unit: c.UnitOffset}
	if len(a.Saved) > 0 {
		g.mean, g.rstd = a.Saved[0].Dev, a.Saved[1].Dev
	} else {
		b.norm(norm{name: "layernorm", mean: g.mean, rstd: g.rstd, x: g.x, gain: g.gain, bias: a.In[2], eps: c.Eps, unit: c.UnitOffset})
	}
	b.normGrad(g, a.Out, p)
}

// normGrad are the operands of a gradient; past is none or one.
type normGrad struct {
	name        string
	x, gain, dy kernels.View
	past        []kernels.View
	mean, rstd  uintptr
	unit        bool
}

// normGrad adds the kernels of a gradient.
func (b *builder) normGrad(g normGrad, out []kernels.View, p normGradPlan) {
	t := teamOf(p.d, append([]kernels.View{out[0], g.x, g.dy}, g.past...), g.gain)
	args := []any{out[0], g.x, g.gain, g.dy, optional(g.past, 0), g.mean, g.rstd, unit(g.unit), p.rows, p.d, t.threads}
	name := typed(g.name+t.how, g.x, g.dy)
	if t.how == "_held" {
		b.rows(normGrads, name, p.strips.count, t.block, append(args, p.sums, p.strips.rows)...)
	} else {
		b.rows(normGrads, name, ceil(p.rows, t.rows()), t.block, args...)
		grid := [3]int{ceil(p.d, 32*wide(g.x, g.dy)), p.strips.count, len(out) - 1}
		b.launch(normGrads, typed("norm_partial", g.x, g.dy), grid, 256, p.sums, g.x, g.dy, g.mean, g.rstd, p.rows, p.d, p.strips.rows)
	}
	b.columnTotals(p.sums, p.strips.count, p.d, out[1:]...)
}
