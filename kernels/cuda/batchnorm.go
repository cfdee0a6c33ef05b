//go:build gpu

package cuda

import (
	_ "embed" // the PTX files

	"prenorm/kernels"
)

//go:embed batchnorm.ptx
var batchNormPTX string

var batchNorms = &module{"batchnorm", batchNormPTX}

func init() {
	enter(planBatchNorm, bindBatchNorm)
	enter(planBatchNormGrad, bindBatchNormGrad)
	enter(planBatchNormUpdate, bindBatchNormUpdate)
	enterPlain(bindBatchNormInference)
}

// batchStats is the workspace of statistics over runs: sums of x and of squared deviations of each element.
type batchStats struct {
	runs, d int
	strips
	partial, sum, squares, mean, rstd uintptr
}

func planBatchStats(x kernels.View, d int, s *scratch) batchStats {
	p := batchStats{runs: x.Len() / d, d: d, strips: stripsOf(x.Len() / d)}
	p.partial, p.sum, p.squares = s.f32(p.strips.count*d), s.f32(d), s.f32(d)
	p.mean, p.rstd = s.f32(d), s.f32(d)
	return p
}

// columns adds a kernel over strips of runs and the sum of what it gives.
func (b *builder) columns(name string, p batchStats, out uintptr, args ...any) {
	args = append(append([]any{p.partial}, args...), p.runs, p.d, p.strips.rows)
	b.launch(batchNorms, name, [3]int{ceil(p.d, 32*4), p.strips.count, 1}, 256, args...)
	b.columnTotals(p.partial, p.strips.count, p.d, kernels.View{Dev: out})
}

// batchSums adds what finds the sums.
func (b *builder) batchSums(p batchStats, x kernels.View) {
	b.columns("batch_sum", p, p.sum, x)
	b.columns("batch_squares", p, p.squares, x, p.sum)
}

// batchStatistics adds what finds mean and rstd.
func (b *builder) batchStatistics(p batchStats, x kernels.View, mean, rstd uintptr, eps float64) {
	b.batchSums(p, x)
	b.rows(batchNorms, "batch_statistics", ceil(p.d, threads), threads, mean, rstd, p.sum, p.squares, float32(eps), p.runs, p.d)
}

func planBatchNorm(_ kernels.BatchNorm, a kernels.Args, s *scratch) (batchStats, error) {
	return planBatchStats(a.In[0], a.In[1].Len(), s), nil
}

func bindBatchNorm(b *builder, c kernels.BatchNorm, a kernels.Args, p batchStats) {
	mean, rstd := p.mean, p.rstd
	if len(a.Aux) > 0 {
		mean, rstd = a.Aux[0].Dev, a.Aux[1].Dev
	}
	b.batchStatistics(p, a.In[0], mean, rstd, c.Eps)
	n := a.Out[0].Len()
	b.elements(batchNorms, "batch_norm", n, a.Out[0], a.In[0], a.In[1], a.In[2], mean, rstd, float32(0), 0, unit(c.UnitOffset), p.d, n)
}

func planBatchNormGrad(_ kernels.BatchNormGrad, a kernels.Args, s *scratch) (batchStats, error) {
	return planBatchStats(a.In[0], a.In[1].Len(), s), nil
}

func bindBatchNormGrad(b *builder, c kernels.BatchNormGrad, a kernels.Args, p batchStats) {
	x, dy, mean, rstd := a.In[0], a.In[3], p.mean, p.rstd
	if len(a.Saved) > 0 {
		mean, rstd = a.Saved[0].Dev, a.Saved[1].Dev
	} else {
		b.batchStatistics(p, x, mean, rstd, c.Eps)
	}
	b.columns("batch_gain", p, a.Out[1].Dev, x, dy, mean, rstd)
	b.columns("batch_sum", p, a.Out[2].Dev, dy)
	n := x.Len()
	b.elements(batchNorms, "batch_dx", n, a.Out[0], x, a.In[1], dy, mean, rstd, a.Out[1], a.Out[2], unit(c.UnitOffset), p.runs, p.d, n)
}

func planBatchNormUpdate(_ kernels.BatchNormUpdate, a kernels.Args, s *scratch) (batchStats, error) {
	return planBatchStats(a.In[1], a.In[0].Dim(1), s), nil
}

func bindBatchNormUpdate(b *builder, c kernels.BatchNormUpdate, a kernels.Args, p batchStats) {
	b.batchSums(p, a.In[1])
	b.rows(batchNorms, "batch_running", ceil(2*p.d, threads), threads, a.Out[0], a.In[0], p.sum, p.squares, float32(c.Momentum), p.runs, p.d)
}

func bindBatchNormInference(b *builder, c kernels.BatchNormInference, a kernels.Args) {
	n, d := a.Out[0].Len(), a.In[1].Len()
	variance := a.In[3].Dev + uintptr(4*d)
	b.elements(batchNorms, "batch_norm", n, a.Out[0], a.In[0], a.In[1], a.In[2], a.In[3], variance, float32(c.Eps), 1, unit(c.UnitOffset), d, n)
}
