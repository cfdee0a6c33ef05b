package op

import (
	G "gorgonia.org/gorgonia"

	"prenorm/kernels"
)

func init() {
	register(kernels.Rope{}, []bool{true, false, false}, func(a application) (G.Nodes, error) {
		inverse := kernels.Rope{Inverse: !a.call.(kernels.Rope).Inverse}
		dx, err := a.one("", inverse, a.grad, a.in[1], a.in[2])
		return G.Nodes{dx, nil, nil}, err
	})
	register(kernels.Attention{}, []bool{true, true, true, false}, func(a application) (G.Nodes, error) {
		in := G.Nodes{a.in[0], a.in[1], a.in[2], a.out, a.grad}
		in = append(in, a.in[3:]...) // the document ids, where there are any
		grads, err := a.multi(kernels.AttentionGrad(a.call.(kernels.Attention)), in...)
		return append(grads, make(G.Nodes, len(a.in)-3)...), err
	})
}
