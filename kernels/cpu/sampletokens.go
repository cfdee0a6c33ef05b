package cpu

import (
	"unsafe"

	"prenorm/kernels"
)

func init() { enter(planSampleTokens, bindSampleTokens) }

// sampleTokensPlan is room for one row.
type sampleTokensPlan struct {
	weights []float64
	ranking []int32
}

func planSampleTokens(_ kernels.SampleTokens, a kernels.Args, s *scratch) (p sampleTokensPlan, err error) {
	vocab := a.In[0].Dim(1)
	p.weights = s.f64(vocab)
	if at := s.take(4 * vocab); at != nil {
		p.ranking = unsafe.Slice((*int32)(at), vocab)
	}
	return p, nil
}

// bindSampleTokens binds the code of package kernels as it is: a row is the work of one thread, and there is one row for each text that is written.
func bindSampleTokens(_ *Backend, c kernels.SampleTokens, a kernels.Args, p sampleTokensPlan) kernels.Launch {
	ids, logits, places := a.Out[0].I32(), a.In[0].F32(), a.In[1].I32()
	return func() error { return kernels.SampleRows(c, ids, logits, places, p.weights, p.ranking) }
}
