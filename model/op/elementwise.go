package op

import (
	G "gorgonia.org/gorgonia"

	"prenorm/kernels"
)

func init() {
	register(kernels.Add{}, []bool{true, true}, func(a application) (G.Nodes, error) {
		return G.Nodes{a.grad, a.grad}, nil
	})
	register(kernels.Scale{}, []bool{true}, func(a application) (G.Nodes, error) {
		dx, err := a.one("", a.call, a.grad)
		return G.Nodes{dx}, err
	})
	register(kernels.GradScale{}, []bool{true, false}, func(a application) (G.Nodes, error) {
		dx, err := a.one("", kernels.Gate{}, a.grad, a.in[1])
		return G.Nodes{dx, nil}, err
	})
	register(kernels.Activation{}, []bool{true}, func(a application) (G.Nodes, error) {
		dx, err := a.one("", kernels.ActivationGrad(a.call.(kernels.Activation)), a.in[0], a.grad)
		return G.Nodes{dx}, err
	})
	register(kernels.GatedActivation{}, []bool{true, true}, func(a application) (G.Nodes, error) {
		return a.multi(kernels.GatedActivationGrad(a.call.(kernels.GatedActivation)), a.in[0], a.in[1], a.grad)
	})
	register(kernels.Dropout{}, []bool{true, false}, func(a application) (G.Nodes, error) {
		dx, err := a.one("", a.call, a.grad, a.in[1])
		return G.Nodes{dx, nil}, err
	})
}
