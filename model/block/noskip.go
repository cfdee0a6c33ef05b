package block

import "prenorm/model/graph"

func init() {
	Register(Placement{
		Name:     "noskip",
		Paper:    `none: a stack of sub-layers without residual connections`,
		Equation: "x <- F(Norm(x)); y = Norm(x) after the last block",
		About: `A norm but no residual, to show what the residual is for: the gradient is a product over all sub-layers, and attention's mean over rows is
never mended, so rows become alike with depth (Dong et al. 2021, arXiv 2103.03404).
Optimizer: expect it to learn little beyond a few blocks.`,
		Backward:  `dL/dx_in = J_Norm' J_F' dL/dx_out       there is no straight path: the gradient is a product over layers`,
		Diagram:   sequence("Norm F"),
		Begin:     one,
		Block:     each(noskip),
		FinalNorm: true,
		Base:      "xavier",
		Writers:   "plain",
	})
}

// noskip is F(Norm(x)).
func noskip(p Part, x graph.Tensor, f Sublayer) graph.Tensor {
	return f(p.norm("in", x), Inner{})
}
