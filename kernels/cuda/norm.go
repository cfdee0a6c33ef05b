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
	narrowed(kernels.RMSNorm{}, kernels.LayerNorm{}, kernels.AddRMSNorm{}, kernels.AddLayerNorm{})
	enterPlain(func(b *builder, c kernels.RMSNorm, a kernels.Args) {
		b.norm(norm{name: "rmsnorm", y: a.Out[0], rstd: optional(a.Aux, 0), x: a.In[0], gain: a.In[1], eps: c.Eps, unit: c.UnitOffset})
	})
	enterPlain(func(b *builder, c kernels.LayerNorm, a kernels.Args) {
		b.norm(norm{name: "layernorm", y: a.Out[0], mean: optional(a.Aux, 0), rstd: optional(a.Aux, 1), x: a.In[0], gain: a.In[1], bias: a.In[2],
			eps: c.Eps, unit: c.UnitOffset})
	})
	enterPlain(func(b *builder, c kernels.AddRMSNorm, a kernels.Args) {
		b.norm(norm{name: "add_rmsnorm", y: a.Out[0], z: a.Out[1], rstd: optional(a.Aux, 0), x: a.In[0], r: &a.In[1], gain: a.In[2],
			eps: c.Eps, unit: c.UnitOffset})
	})
	enterPlain(func(b *builder, c kernels.AddLayerNorm, a kernels.Args) {
		b.norm(norm{name: "add_layernorm", y: a.Out[0], z: a.Out[1], mean: optional(a.Aux, 0), rstd: optional(a.Aux, 1), x: a.In[0], r: &a.In[1],
			gain: a.In[2], bias: a.In[3], eps: c.Eps, unit: c.UnitOffset})
	})
}

// norm is a forward: of x, or of z = x + r where there is an r. What is not there is zero.
type norm struct {
	name       string
	y, z, x    kernels.View
	r          *kernels.View
	gain, bias kernels.View
	mean, rstd uintptr
	eps        float64
	unit       bool
}

// optional is the address of a view that may not be there.
func optional(views []kernels.View, i int) uintptr {
	if i < len(views) {
		return views[i].Dev
	}
	return 0
}

// unit is what is added to a stored gain.
func unit(offset bool) float32 {
	if offset {
		return 1
	}
	return 0
}

// norm adds the kernel of a forward.
func (b *builder) norm(n norm) {
	rows, d := n.x.Len()/n.gain.Len(), n.gain.Len()
	name, r := n.name, uintptr(0)
	operands := []kernels.View{n.y, n.x}
	if n.r != nil {
		r = n.r.Dev
		operands = append(operands, *n.r, n.z)
	}
	t := teamOf(d, operands, n.gain, n.bias)
	types := []kernels.View{n.y, n.x}
	if n.r != nil {
		types[1] = *n.r
	}
	b.rows(norms, typed(name+t.how, types...), ceil(rows, t.rows()), t.block, n.y, n.z, n.mean, n.rstd, n.x, r, n.gain, n.bias,
		float32(n.eps), unit(n.unit), rows, d, t.threads)
}

// team says how many threads of a block work on one row, and whether they hold it in registers, as in team.cuh.
type team struct {
	how            string
	threads, block int
}

// rows is how many rows a block works on at a time.
func (t team) rows() int { return t.block / t.threads }

// The most elements of a row that a thread holds, and the most threads of a row that is held.
const (
	teamHolds   = 16
	teamThreads = 512
)

// teamOf chooses the team for rows of d elements. Operands with rows, and parameters of one row, must be aligned if the row is to be held.
func teamOf(d int, operands []kernels.View, parameters ...kernels.View) team {
	n := wide(operands...)
	if d%n != 0 || d > teamHolds*teamThreads || !aligned(n, operands...) || !aligned(n, parameters...) {
		if d <= 512 {
			return team{"_long", 32, 256}
		}
		return team{"_long", 256, 256}
	}
	t := team{"_held", 4, 256}
	for t.threads*teamHolds < d && t.threads < 256 {
		t.threads *= 2
	}
	if t.threads*teamHolds < d {
		t.threads = 32 * ceil(d, 32*teamHolds)
		t.block = t.threads
	}
	return t
}
