//go:build gpu

package cuda

import (
	_ "embed" // the PTX files
	"math"

	"prenorm/kernels"
)

//go:embed sample.ptx
var samplePTX string

var samples = &module{"sample", samplePTX}

func init() { enter(planSampleTokens, bindSampleTokens) }

// planSampleTokens takes a weight for each logit and returns where they are.
func planSampleTokens(_ kernels.SampleTokens, a kernels.Args, s *scratch) (uintptr, error) {
	return s.f64(a.In[0].Len()), nil
}

func bindSampleTokens(b *builder, c kernels.SampleTokens, a kernels.Args, weights uintptr) {
	floor, nucleus := math.Inf(-1), c.TopP
	if c.MinP > 0 {
		floor = c.Temperature * math.Log(c.MinP)
	}
	if nucleus == 1 {
		nucleus = 0
	}
	rows, vocab := a.In[0].Dim(0), a.In[0].Dim(1)
	b.rows(samples, "sample_tokens", rows, 512, a.Out[0], a.In[0], a.In[1], weights, b.fault(notFinite), vocab, c.Temperature, min(c.TopK, vocab), nucleus,
		floor, uint64(c.Seed))
}
