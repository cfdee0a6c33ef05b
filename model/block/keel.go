package block

import "prenorm/model/graph"

func init() {
	Register(Placement{
		Name:     "keel",
		Paper:    `ByteDance Seed 2026, Keel, "Post-LayerNorm Is Back" (arXiv 2601.19895)`,
		Equation: "x <- Norm(alpha x + F(Norm(x))), alpha = 2N; no final norm",
		About: `Post on the stream with the branch of pre: the branch reads a normed input, and the skip outweighs it by the number of sub-layers.
Optimizer: wants large learning rates; slowest of all at small ones, so compare placements at the best rate of each.
Traps: the equation is from three agreeing summaries, not from the paper's own text.`,
		Backward: `dL/dx_in = alpha J_Norm' dL/dx_out             straight: all but the whole gradient, as alpha = 2N
         + J_NormIn' J_F' J_Norm' dL/dx_out    branch: about 1/(2N) of it`,
		Diagram: sketch{skip: "×2N", branch: "NormIn F", after: "Norm"}.draw(),
		Begin:   one,
		Block:   each(keel),
		Base:    "fan_in",
		Writers: "plain",
	})
}

// keel is Norm(2N x + F(Norm(x))).
func keel(p Part, x graph.Tensor, f Sublayer) graph.Tensor {
	alpha := 2 * float64(p.Layers)
	return p.norm("out", p.add(p.times(alpha, x), f(p.norm("in", x), Inner{})))
}
