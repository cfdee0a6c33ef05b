//go:build gpu

package cuda

import (
	_ "embed" // the PTX files
	"fmt"

	"prenorm/kernels"
)

//go:embed packed.ptx
var packedPTX string

var packings = &module{"packed", packedPTX}

func init() {
	enterPlain(bindPackWeights)
	enterPlain(bindRoundWeights)
	enterPlain(bindPackedMatMul)
}

func bindPackWeights(b *builder, c kernels.PackWeights, a kernels.Args) {
	n := a.Out[0].Len()
	if c.Packing == kernels.PackBF16 {
		b.elements(packings, "pack_0", n, a.Out[0], a.In[0], n)
		return
	}
	runs := a.In[0].Len() / kernels.PackRun
	b.warps(packings, "pack_1", runs, a.Out[0], a.Out[1], a.In[0], runs, a.In[0].Dim(1)/kernels.PackRun, a.Out[1].Dim(1))
}

func bindRoundWeights(b *builder, c kernels.RoundWeights, a kernels.Args) {
	n := a.In[0].Len()
	if c.Packing == kernels.PackBF16 {
		b.elements(packings, "round_0", n, a.Out[0], a.In[0], n)
		return
	}
	b.warps(packings, "round_1", n/kernels.PackRun, a.Out[0], a.In[0], n/kernels.PackRun)
}

func bindPackedMatMul(b *builder, c kernels.PackedMatMul, a kernels.Args) {
	m, n, k := c.Dims(a.In)
	rows := 1
	for rows < min(m, fewRows) {
		rows = min(fewRows, 4*rows)
	}
	words := a.In[1]
	scales, lds := uintptr(0), 0
	if c.Packing == kernels.PackInt8 {
		scales, lds = a.In[2].Dev, a.In[2].Dim(1)
	}
	bias, residual := c.Addends(a.In)
	b.rows(packings, fmt.Sprintf("multiply_%d_%d", rows, c.Packing), ceil(n, 4)*ceil(m, rows), 128,
		a.Out[0], a.In[0], words, scales, bias, residual, m, n, k, words.Dim(1), lds, bit(words.Dev%16 == 0))
}
