package ref

import (
	"fmt"

	"prenorm/kernels"
)

func init() {
	table[kernels.SampleTokens{}.Kernel()] = kernel{
		check: func(call kernels.Call, _ kernels.Args) error {
			if _, ok := call.(kernels.SampleTokens); !ok {
				return fmt.Errorf("ref has no kernel for %q as %T", call.Kernel(), call)
			}
			return nil
		},
		workspace: func(_ kernels.Call, a kernels.Args) int { return 16 * a.In[0].Dim(1) },
		bind: func(call kernels.Call, a kernels.Args) (kernels.Launch, error) {
			if a.In[0].DType == kernels.F32 {
				return bindSampleTokens[float32](call.(kernels.SampleTokens), a), nil
			}
			return bindSampleTokens[float64](call.(kernels.SampleTokens), a), nil
		},
	}
}

// bindSampleTokens binds [kernels.SampleRows], which is the definition.
func bindSampleTokens[F float](c kernels.SampleTokens, v kernels.Args) kernels.Launch {
	ids, logits, places, vocab := v.Out[0].I32(), of[F](v.In[0]), v.In[1].I32(), v.In[0].Dim(1)
	weights := scratch(v.Work, vocab)[0]
	ranking := kernels.View{Shape: []int{vocab}, DType: kernels.I32, Host: v.Work.Host[8*vocab:]}.I32()
	return func() error { return kernels.SampleRows(c, ids, logits, places, weights, ranking) }
}
