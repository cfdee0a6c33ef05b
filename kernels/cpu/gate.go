package cpu

import "prenorm/kernels"

func init() {
	enter(planGate, bindGate)
	enter(planGateGrad, bindGateGrad)
}

// planGate takes a row for the gate, repeated over the width: rows are then multiplied by a row of their own length.
func planGate(_ kernels.Gate, a kernels.Args, s *scratch) ([]float32, error) {
	return s.f32(a.In[0].Dim(1)), nil
}

// repeat fills a row with copies of g.
func repeat(row, g []float32) {
	for at := 0; at < len(row); at += len(g) {
		copy(row[at:], g)
	}
}

func bindGate(b *Backend, _ kernels.Gate, a kernels.Args, row []float32) kernels.Launch {
	y, x, g, width := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32(), a.In[0].Dim(1)
	rows := rowSpans(a.In[0].Dim(0), width, nsElem, func(lo, hi int) {
		for n := lo; n < hi; n++ {
			b.tier.rmsRow(y[n*width:][:width], x[n*width:][:width], row, 1, 0)
		}
	})
	return func() error {
		repeat(row, g)
		b.pool.run(rows)
		return nil
	}
}

type gateGradPlan struct {
	rowSum
	row, total []float32 // the gate over the width, and its gradient before copies are added up
}

func planGateGrad(_ kernels.GateGrad, a kernels.Args, s *scratch) (p gateGradPlan, err error) {
	width := a.In[0].Dim(1)
	p.rowSum = planRowSum(a.In[0].Dim(0), width, s)
	p.row, p.total = s.f32(width), s.f32(width)
	return p, nil
}

func bindGateGrad(b *Backend, _ kernels.GateGrad, a kernels.Args, p gateGradPlan) kernels.Launch {
	dx, dg, x, g, dy := a.Out[0].F32(), a.Out[1].F32(), a.In[0].F32(), a.In[1].F32(), a.In[2].F32()
	n, w := a.In[0].Dim(0), p.width
	rows := newLoop(p.count, 2*nsElem*float64(p.per*w), func(t int) {
		sums := p.block(t)
		for r := t * p.per; r < min((t+1)*p.per, n); r++ {
			b.tier.rmsGradRow(dx[r*w:][:w], sums, x[r*w:][:w], p.row, dy[r*w:][:w], 1, 0)
		}
	})
	finish := p.finish(p.total)
	return func() error {
		repeat(p.row, g)
		b.pool.run(rows)
		b.pool.run(finish)
		fold(dg, p.total)
		return nil
	}
}

// fold adds up the runs of total that are as long as out.
func fold(out, total []float32) {
	for i := range out {
		var s float64
		for at := i; at < len(total); at += len(out) {
			s += float64(total[at])
		}
		out[i] = float32(s)
	}
}
