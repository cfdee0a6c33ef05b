//go:build gpu

package cuda

import (
	_ "embed" // the PTX files

	"prenorm/kernels"
)

//go:embed norm.ptx
var normPTX string

var norms = &module{"norm", normPTX}

func init() {
	enterPlain(func(b *builder, c kernels.RMSNorm, a kernels.Args) {
		n := normOf(a)
		b.norm(n, "rmsnorm", a.Out[0], optional(a.Aux, 0), a.In[0], a.In[1], float32(c.Eps), unit(c.UnitOffset))
	})
	enterPlain(func(b *builder, c kernels.LayerNorm, a kernels.Args) {
		n := normOf(a)
		b.norm(n, "layernorm", a.Out[0], optional(a.Aux, 0), optional(a.Aux, 1), a.In[0], a.In[1], a.In[2], float32(c.Eps), unit(c.UnitOffset))
	})
	enter(planNormGrad[kernels.RMSNormGrad], bindRMSNormGrad)
	enter(planNormGrad[kernels.LayerNormGrad], bindLayerNormGrad)
}

// normShape is runs of d elements.
type normShape struct{ runs, d int }

func normOf(a kernels.Args) normShape { return normShape{a.In[0].Len() / a.In[1].Len(), a.In[1].Len()} }

// unit is what is added to a stored gain.
func unit(offset bool) float32 {
	if offset {
		return 1
	}
	return 0
}

// optional is the address of a view that may not be there.
func optional(views []kernels.View, i int) uintptr {
	if i < len(views) {
		return views[i].Dev
	}
	return 0
}

// norm adds a kernel that gives each run a warp or, when it is long, a block.
func (b *builder) norm(n normShape, name string, args ...any) {
	args = append(args, n.runs, n.d)
	if n.d <= 512 {
		b.rows(norms, name+"_32", ceil(n.runs, 8), 256, args...)
	} else {
		b.rows(norms, name+"_256", n.runs, 256, args...)
	}
}

// normGradPlan is the workspace of a gradient: statistics, when they are not given, and partial sums of the parameters' gradients.
type normGradPlan struct {
	normShape
	strips
	mean, rstd uintptr
	sums       [2]uintptr
}

func planNormGrad[C kernels.Call](_ C, a kernels.Args, s *scratch) (normGradPlan, error) {
	p := normGradPlan{normShape: normOf(a)}
	p.strips = stripsOf(p.runs)
	if len(a.Saved) == 0 {
		p.mean, p.rstd = s.f32(p.runs), s.f32(p.runs)
	}
	for i := range a.Out[1:] {
		p.sums[i] = s.f32(p.strips.count * p.d)
	}
	return p, nil
}

func bindRMSNormGrad(b *builder, c kernels.RMSNormGrad, a kernels.Args, p normGradPlan) {
	rstd := p.rstd
	if len(a.Saved) > 0 {
		rstd = a.Saved[0].Dev
	} else {
		b.norm(p.normShape, "rmsnorm", uintptr(0), rstd, a.In[0], a.In[1], float32(c.Eps), unit(c.UnitOffset))
	}
	b.norm(p.normShape, "rmsnorm_dx", a.Out[0], a.In[0], a.In[1], a.In[2], rstd, unit(c.UnitOffset))
	b.normParameters(a.Out[1:], p, a.In[0], a.In[2], 0, rstd)
}

func bindLayerNormGrad(b *builder, c kernels.LayerNormGrad, a kernels.Args, p normGradPlan) {
	mean, rstd := p.mean, p.rstd
	if len(a.Saved) > 0 {
		mean, rstd = a.Saved[0].Dev, a.Saved[1].Dev
	} else {
		b.norm(p.normShape, "layernorm", uintptr(0), mean, rstd, a.In[0], a.In[1], a.In[2], float32(c.Eps), unit(c.UnitOffset))
	}
	b.norm(p.normShape, "layernorm_dx", a.Out[0], a.In[0], a.In[1], a.In[3], mean, rstd, unit(c.UnitOffset))
	b.normParameters(a.Out[1:], p, a.In[0], a.In[3], mean, rstd)
}

// normParameters adds the sums over runs: the gradient of the gain and, where there is a second output, of the bias.
func (b *builder) normParameters(out []kernels.View, p normGradPlan, x, dy kernels.View, mean, rstd uintptr) {
	bias := uintptr(0)
	if len(out) > 1 {
		bias = p.sums[1]
	}
	b.launch(norms, "norm_partial", [3]int{ceil(p.d, 32), p.strips.count, 1}, 256, p.sums[0], bias, x, dy, mean, rstd, p.runs, p.d, p.strips.rows)
	for i, v := range out {
		b.columnTotal(v, p.sums[i], p.strips.count, p.d)
	}
}
