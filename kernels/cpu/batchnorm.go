package cpu

import (
	"math"

	"prenorm/kernels"
)

func init() {
	enter(planBatchNorm, bindBatchNorm)
	enter(planBatchNormGrad, bindBatchNormGrad)
	enter(planBatchNormUpdate, bindBatchNormUpdate)
	enter(planBatchNormInference, bindBatchNormInference)
}

// batchSums adds up rows that are made of runs of x: each block of runs has a row of sums and two more to work in.
type batchSums struct {
	rowSum
	runs int
	temp []float32
}

func planBatchSums(x kernels.View, d int, s *scratch) batchSums {
	p := batchSums{runs: x.Len() / d}
	p.rowSum = planRowSum(p.runs, d, s)
	p.temp = s.f32(2 * p.count * d)
	return p
}

// loop calls add for every run with its block's sums and two rows of memory.
func (p batchSums) loop(add func(n int, sums, temp, spare []float32)) *loop {
	d := p.width
	return newLoop(p.count, 3*nsElem*float64(p.per*d), func(t int) {
		sums, temp := p.block(t), p.temp[2*t*d:][:2*d]
		for n := t * p.per; n < min((t+1)*p.per, p.runs); n++ {
			add(n, sums, temp[:d], temp[d:])
		}
	})
}

// batchStats are mean and biased variance of each element over the runs of x.
type batchStats struct {
	batchSums
	mean, minus, variance []float32 // minus is -mean
}

func planBatchStats(x kernels.View, d int, s *scratch) batchStats {
	return batchStats{batchSums: planBatchSums(x, d, s), mean: s.f32(d), minus: s.f32(d), variance: s.f32(d)}
}

// find returns what finds the statistics.
func (p batchStats) find(b *Backend, x []float32) func() {
	d := p.width
	means := p.loop(func(n int, sums, _, _ []float32) { b.tier.addTo(sums, x[n*d:][:d]) })
	squares := p.loop(func(n int, sums, temp, spare []float32) {
		b.tier.add(temp, x[n*d:][:d], p.minus)
		b.tier.rmsGradRow(spare, sums, temp, p.mean, temp, 1, 0) // sums += temp²
	})
	finishMean, finishVariance := p.finish(p.mean), p.finish(p.variance)
	return func() {
		b.pool.run(means)
		b.pool.run(finishMean)
		for j, sum := range p.mean {
			p.mean[j] = float32(float64(sum) / float64(p.runs))
			p.minus[j] = -p.mean[j]
		}
		b.pool.run(squares)
		b.pool.run(finishVariance)
		for j, sum := range p.variance {
			p.variance[j] = float32(float64(sum) / float64(p.runs))
		}
	}
}

// batchRows is h rstd g + bias with h = x - mean, for rows of factors and of -mean.
type batchRows struct{ minus, rstd, factor []float32 }

func planBatchRows(d int, s *scratch) batchRows { return batchRows{s.f32(d), s.f32(d), s.f32(d)} }

// set makes the rows of a mean and a variance.
func (p batchRows) set(mean, variance, gain []float32, eps float64, unit float32) {
	for j := range mean {
		p.minus[j] = -mean[j]
		p.rstd[j] = float32(1 / math.Sqrt(float64(variance[j])+eps))
		p.factor[j] = p.rstd[j] * (unit + gain[j])
	}
}

// apply is the loop over the runs of x.
func (p batchRows) apply(b *Backend, y, x, bias []float32) *loop {
	d := len(bias)
	return rowSpans(len(x)/d, d, 3*nsElem, func(lo, hi int) {
		for n := lo; n < hi; n++ {
			y, x := y[n*d:][:d], x[n*d:][:d]
			b.tier.add(y, x, p.minus)
			b.tier.rmsRow(y, y, p.factor, 1, 0)
			b.tier.addTo(y, bias)
		}
	})
}

type batchNormPlan struct {
	batchStats
	rows batchRows
}

func planBatchNorm(_ kernels.BatchNorm, a kernels.Args, s *scratch) (batchNormPlan, error) {
	d := a.In[1].Len()
	return batchNormPlan{planBatchStats(a.In[0], d, s), planBatchRows(d, s)}, nil
}

func bindBatchNorm(b *Backend, c kernels.BatchNorm, a kernels.Args, p batchNormPlan) kernels.Launch {
	y, x, gain, bias, unit := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32(), a.In[2].F32(), unitOf(c.UnitOffset)
	mean, rstd := statistic(a.Aux, 0), statistic(a.Aux, 1)
	find, apply := p.find(b, x), p.rows.apply(b, y, x, bias)
	return func() error {
		find()
		p.rows.set(p.mean, p.variance, gain, c.Eps, unit)
		copy(mean, p.mean)
		copy(rstd, p.rows.rstd)
		b.pool.run(apply)
		return nil
	}
}

// batchNormGradPlan holds the statistics, where they are not saved, and the rows by which dx is found:
// dx = factor (dy + shift + (x - mean) slope).
type batchNormGradPlan struct {
	stats        batchStats
	rows         batchRows
	gain, bias   batchSums
	shift, slope []float32
}

func planBatchNormGrad(_ kernels.BatchNormGrad, a kernels.Args, s *scratch) (p batchNormGradPlan, err error) {
	d := a.In[1].Len()
	if len(a.Saved) == 0 {
		p.stats = planBatchStats(a.In[0], d, s)
	}
	p.rows = planBatchRows(d, s)
	p.gain, p.bias = planBatchSums(a.In[0], d, s), planBatchSums(a.In[0], d, s)
	p.shift, p.slope = s.f32(d), s.f32(d)
	return p, nil
}

// statistics returns what sets the rows: from what the forward call saved, or anew.
func (p batchNormGradPlan) statistics(b *Backend, c kernels.BatchNormGrad, a kernels.Args) func() {
	x, gain, unit := a.In[0].F32(), a.In[1].F32(), unitOf(c.UnitOffset)
	if len(a.Saved) == 0 {
		find := p.stats.find(b, x)
		return func() {
			find()
			p.rows.set(p.stats.mean, p.stats.variance, gain, c.Eps, unit)
		}
	}
	mean, rstd := a.Saved[0].F32(), a.Saved[1].F32()
	return func() {
		for j := range mean {
			p.rows.minus[j], p.rows.rstd[j], p.rows.factor[j] = -mean[j], rstd[j], rstd[j]*(unit+gain[j])
		}
	}
}

func bindBatchNormGrad(b *Backend, c kernels.BatchNormGrad, a kernels.Args, p batchNormGradPlan) kernels.Launch {
	dx, dgain, dbias, x, dy := a.Out[0].F32(), a.Out[1].F32(), a.Out[2].F32(), a.In[0].F32(), a.In[3].F32()
	d, runs := len(dgain), p.gain.runs
	statistics := p.statistics(b, c, a)
	ofGain := p.gain.loop(func(n int, sums, temp, spare []float32) {
		b.tier.add(temp, x[n*d:][:d], p.rows.minus)
		b.tier.rmsRow(temp, temp, p.rows.rstd, 1, 0)
		b.tier.rmsGradRow(spare, sums, temp, p.rows.rstd, dy[n*d:][:d], 1, 0) // sums += dy temp
	})
	ofBias := p.bias.loop(func(n int, sums, _, _ []float32) { b.tier.addTo(sums, dy[n*d:][:d]) })
	finishGain, finishBias := p.gain.finish(dgain), p.bias.finish(dbias)
	rows := rowSpans(runs, d, 4*nsElem, func(lo, hi int) {
		for n := lo; n < hi; n++ {
			dx := dx[n*d:][:d]
			b.tier.add(dx, x[n*d:][:d], p.rows.minus)
			b.tier.rmsRow(dx, dx, p.slope, 1, 0)
			b.tier.addTo(dx, dy[n*d:][:d])
			b.tier.addTo(dx, p.shift)
			b.tier.rmsRow(dx, dx, p.rows.factor, 1, 0)
		}
	})
	return func() error {
		statistics()
		b.pool.run(ofGain)
		b.pool.run(ofBias)
		b.pool.run(finishGain)
		b.pool.run(finishBias)
		for j := range d {
			p.shift[j] = float32(-float64(dbias[j]) / float64(runs))
			p.slope[j] = float32(-float64(dgain[j]) / float64(runs) * float64(p.rows.rstd[j]))
		}
		b.pool.run(rows)
		return nil
	}
}

func planBatchNormUpdate(_ kernels.BatchNormUpdate, a kernels.Args, s *scratch) (batchStats, error) {
	return planBatchStats(a.In[1], a.In[0].Dim(1), s), nil
}

func bindBatchNormUpdate(b *Backend, c kernels.BatchNormUpdate, a kernels.Args, p batchStats) kernels.Launch {
	next, running, x, d := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32(), a.In[0].Dim(1)
	find := p.find(b, x)
	return func() error {
		if len(x) == 0 {
			copy(next, running)
			return nil
		}
		find()
		for j := range d {
			next[j] = running[j] + float32(c.Momentum)*(p.mean[j]-running[j])
			next[d+j] = running[d+j] + float32(c.Momentum)*(p.variance[j]-running[d+j])
		}
		return nil
	}
}

func planBatchNormInference(_ kernels.BatchNormInference, a kernels.Args, s *scratch) (batchRows, error) {
	return planBatchRows(a.In[1].Len(), s), nil
}

func bindBatchNormInference(b *Backend, c kernels.BatchNormInference, a kernels.Args, p batchRows) kernels.Launch {
	y, x, gain, bias, running := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32(), a.In[2].F32(), a.In[3].F32()
	d, unit := len(gain), unitOf(c.UnitOffset)
	apply := p.apply(b, y, x, bias)
	return func() error {
		p.set(running[:d], running[d:], gain, c.Eps, unit)
		b.pool.run(apply)
		return nil
	}
}
