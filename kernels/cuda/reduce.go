//go:build gpu

package cuda

import (
	_ "embed" // the PTX files

	"prenorm/kernels"
)

//go:embed reduce.ptx
var reducePTX string

var reduce = &module{"reduce", reducePTX}

func init() { enter(planSumRows, bindSumRows) }

// strips says how a sum over rows is cut: into at most 256 strips of at least 64 rows. It depends on the number of rows alone.
type strips struct{ count, rows int }

func stripsOf(rows int) strips {
	each := max(64, ceil(rows, 256))
	return strips{ceil(rows, each), each}
}

type sumRowsPlan struct {
	strips
	partial uintptr
}

func planSumRows(_ kernels.SumRows, a kernels.Args, s *scratch) (sumRowsPlan, error) {
	p := sumRowsPlan{strips: stripsOf(a.In[0].Dim(0))}
	p.partial = s.f32(p.count * a.In[0].Dim(1))
	return p, nil
}

func bindSumRows(b *builder, _ kernels.SumRows, a kernels.Args, p sumRowsPlan) {
	rows, columns := a.In[0].Dim(0), a.In[0].Dim(1)
	b.launch(reduce, "sumrows_partial", [3]int{ceil(columns, 32), p.count, 1}, 256, p.partial, a.In[0], rows, columns, p.rows)
	b.columnTotal(a.Out[0], p.partial, p.count, columns)
}

// columnTotal adds the strips of partial sums.
func (b *builder) columnTotal(out kernels.View, partial uintptr, count, columns int) {
	b.rows(reduce, "column_total", ceil(columns, threads), threads, out, partial, count, columns)
}
