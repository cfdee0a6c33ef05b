package block

import (
	"math"

	"prenorm/model/graph"
)

func init() {
	Register(Placement{
		Name:     "subln",
		Paper:    `Wang et al. 2022, Magneto, Sub-LN (arXiv 2210.06423)`,
		Equation: "x <- x + W_out Norm(H(Norm(x))), H the sub-layer up to its output projection; y = Norm(x) after the last block",
		About: `Pre with a second norm inside each sub-layer, right before its output projection.
Optimizer: takes larger rates than pre in the paper.
Traps: values, output projections and the MLP start larger by sqrt(ln 2N), so the stream grows strongly with depth.`,
		Backward: `dL/dx_in = dL/dx_out                                                straight: the identity
         + J_Norm' J_H' J_NormSub' W_out' dL/dx_out                 branch: damped where H's output is large`,
		Diagram:   sketch{branch: "Norm H NormSub W_out"}.draw(),
		Begin:     one,
		Block:     each(subln),
		FinalNorm: true,
		Base:      "xavier",
		Writers:   "plain",
		Factor:    "sqrt(ln 2N)",
		Init:      onBranches(func(layers int) float64 { return math.Sqrt(math.Log(2 * float64(layers))) }),
	})
}

// subln is pre with a norm inside the sub-layer.
func subln(p Part, x graph.Tensor, f Sublayer) graph.Tensor {
	inner := Inner{Out: func(h graph.Tensor) graph.Tensor { return p.norm("sub", h) }}
	return p.add(x, f(p.norm("in", x), inner))
}
