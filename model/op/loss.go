package op

import (
	G "gorgonia.org/gorgonia"

	"prenorm/kernels"
)

func init() {
	register(kernels.LinearCrossEntropy{}, []bool{true, true, false, false}, func(a application) (G.Nodes, error) {
		grads, err := a.multi(kernels.LinearCrossEntropyGrad(a.call.(kernels.LinearCrossEntropy)), a.in[0], a.in[1], a.in[2], a.in[3], a.grad)
		if err != nil {
			return nil, err
		}
		return G.Nodes{grads[0], grads[1], nil, nil}, nil
	})
}
