//go:build gpu

package cuda

import (
	_ "embed" // the PTX files
	"math"

	"prenorm/kernels"
)

//go:embed dropout.ptx
var dropoutPTX string

var dropout = &module{"dropout", dropoutPTX}

func init() {
	narrowed(kernels.Dropout{})
	enterPlain(func(b *builder, c kernels.Dropout, a kernels.Args) {
		// A random number is a multiple of 2^-24, so it is at least the rate when the integer is at least this.
		threshold := uint32(math.Ceil(c.Rate * (1 << 24)))
		y, n := a.Out[0], a.Out[0].Len()
		b.spread(dropout, typed("dropout", y), n, wide(y), y, a.In[0], a.In[1], c.Site, threshold, float32(1/(1-c.Rate)), n)
	})
}
