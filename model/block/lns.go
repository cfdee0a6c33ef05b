package block

import (
	"math"

	"prenorm/model/graph"
)

func init() {
	Register(Placement{
		Name:     "lns",
		Paper:    `Sun et al. 2025, LayerNorm Scaling, "The Curse of Depth" (arXiv 2502.05795)`,
		Equation: "x <- x + F(Norm(x)/sqrt(l)); y = Norm(x) after the last block",
		About: `Pre with the norm's output divided by the root of the block's number, so that the stream grows less with depth and late blocks keep an effect.
Optimizer: as pre.
Traps: not to be combined with the writers' 1/sqrt(2N), which is therefore off here.`,
		Backward: `dL/dx_in = dL/dx_out                                straight: the identity
         + J_Norm' J_F' dL/dx_out / sqrt(l)         branch: less with every block`,
		Diagram:   sketch{branch: "Norm ×1/sqrt(l) F"}.draw(),
		Begin:     one,
		Block:     each(lns),
		FinalNorm: true,
		Base:      "fan_in",
		Writers:   "plain",
	})
}

// lns is x + F(Norm(x)/sqrt(l)).
func lns(p Part, x graph.Tensor, f Sublayer) graph.Tensor {
	return p.add(x, f(p.times(1/math.Sqrt(float64(p.L)), p.norm("in", x)), Inner{}))
}
