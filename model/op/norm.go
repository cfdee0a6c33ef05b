package op

import (
	G "gorgonia.org/gorgonia"

	"prenorm/kernels"
)

func init() {
	register(kernels.RMSNorm{}, []bool{true, true}, func(a application) (G.Nodes, error) {
		return a.multi(kernels.RMSNormGrad(a.call.(kernels.RMSNorm)), a.in[0], a.in[1], a.grad)
	})
	register(kernels.LayerNorm{}, []bool{true, true, true}, func(a application) (G.Nodes, error) {
		return a.multi(kernels.LayerNormGrad(a.call.(kernels.LayerNorm)), a.in[0], a.in[1], a.in[2], a.grad)
	})
	register(kernels.BatchNorm{}, []bool{true, true, true}, func(a application) (G.Nodes, error) {
		return a.multi(kernels.BatchNormGrad(a.call.(kernels.BatchNorm)), a.in[0], a.in[1], a.in[2], a.grad)
	})
	register(kernels.DyT{}, []bool{true, true, true, true}, func(a application) (G.Nodes, error) {
		return a.multi(kernels.DyTGrad{}, a.in[0], a.in[1], a.in[2], a.in[3], a.grad)
	})
	register(kernels.Gate{}, []bool{true, true}, func(a application) (G.Nodes, error) {
		return a.multi(kernels.GateGrad{}, a.in[0], a.in[1], a.grad)
	})
}
