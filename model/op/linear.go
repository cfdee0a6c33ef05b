package op

import (
	G "gorgonia.org/gorgonia"

	"prenorm/kernels"
)

func init() {
	register(kernels.MatMul{}, []bool{true, true}, matmulGrad)
	register(kernels.AddBias{}, []bool{true, true}, addBiasGrad)
}

// matmulGrad: for C = A B, dA = dC Bᵀ and dB = Aᵀ dC; a stored transpose swaps the operands and their flags.
func matmulGrad(a application) (G.Nodes, error) {
	c, x, w := a.call.(kernels.MatMul), a.in[0], a.in[1]
	var dx, dw *G.Node
	var err error
	if c.TransA {
		dx, err = a.one("a", kernels.MatMul{TransA: c.TransB, TransB: true}, w, a.grad)
	} else {
		dx, err = a.one("a", kernels.MatMul{TransB: !c.TransB}, a.grad, w)
	}
	if err != nil {
		return nil, err
	}
	if c.TransB {
		dw, err = a.one("b", kernels.MatMul{TransA: true, TransB: c.TransA}, a.grad, x)
	} else {
		dw, err = a.one("b", kernels.MatMul{TransA: !c.TransA}, x, a.grad)
	}
	return G.Nodes{dx, dw}, err
}

func addBiasGrad(a application) (G.Nodes, error) {
	db, err := a.one("", kernels.SumRows{}, a.grad)
	return G.Nodes{a.grad, db}, err
}
