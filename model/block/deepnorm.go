package block

import (
	"math"

	"prenorm/model/graph"
)

func init() {
	Register(Placement{
		Name:     "deepnorm",
		Paper:    `Wang et al. 2022, DeepNet (arXiv 2203.00555)`,
		Equation: "x <- Norm(alpha x + F(x)), alpha = (2N)^(1/4); no final norm",
		About: `Post with a heavier skip: alpha grows with depth and the branch's matrices start smaller by beta = (8N)^(-1/4), so that one step changes the
output by a bounded amount at any depth; 1,000 layers were trained with it.
alpha on the skip and 1/alpha on the branch are the same function: Norm(alpha x + F(x)) = Norm(x + F(x)/alpha) but for eps, because a norm
does not see a factor on its input.
Optimizer: a warm-up is usual; stable at rates at which post fails, though not at any rate.
Traps: two public code bases have (8N)^(+1/4) and a fixed alpha, which undoes it (see docs/placements.md).`,
		Backward: `dL/dx_in = alpha J_Norm' dL/dx_out      straight: alpha makes up for what the norm takes
         + J_F' J_Norm' dL/dx_out       branch: smaller by beta, so all layers have gradients of one size`,
		Diagram: sketch{skip: "×alpha", branch: "F", after: "Norm"}.draw(),
		Begin:   one,
		Block:   each(deepnorm),
		Base:    "xavier",
		Writers: "plain",
		Factor:  "(8N)^(-1/4)",
		Init:    onBranches(func(layers int) float64 { return math.Pow(8*float64(layers), -0.25) }),
	})
}

// deepnorm is Norm(alpha x + F(x)).
func deepnorm(p Part, x graph.Tensor, f Sublayer) graph.Tensor {
	alpha := math.Pow(2*float64(p.Layers), 0.25)
	return p.norm("out", p.add(p.times(alpha, x), f(x, Inner{})))
}
