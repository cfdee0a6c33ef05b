//go:build gpu

package cuda

import (
	_ "embed" // the PTX files

	"prenorm/kernels"
)

//go:embed reduce.ptx
var reducePTX string

var reduce = &module{"reduce", reducePTX}

func init() {
	narrowed(kernels.SumRows{})
	enter(planSumRows, bindSumRows)
}

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
	x, rows, columns := a.In[0], a.In[0].Dim(0), a.In[0].Dim(1)
	b.launch(reduce, typed("sumrows_partial", x), [3]int{ceil(columns, 32*wide(x)), p.count, 1}, 256, p.partial, x, rows, columns, p.rows)
	b.columnTotals(p.partial, p.count, columns, a.Out[0])
}

// columnTotals adds the strips of one or two arrays of partial sums, which lie one behind the other.
func (b *builder) columnTotals(partial uintptr, count, columns int, out ...kernels.View) {
	second := out[len(out)-1]
	b.launch(reduce, "column_total", [3]int{ceil(columns, 32), len(out), 1}, 1024, out[0], second, partial, count, columns)
}
