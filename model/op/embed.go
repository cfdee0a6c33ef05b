package op

import (
	G "gorgonia.org/gorgonia"

	"prenorm/kernels"
)

func init() {
	register(kernels.Embed{}, []bool{false, true}, func(a application) (G.Nodes, error) {
		dw, err := a.one("", kernels.EmbedGrad{Vocab: a.in[1].Shape()[0]}, a.in[0], a.grad)
		return G.Nodes{nil, dw}, err
	})
}
