package block

import "prenorm/model/graph"

func init() {
	Register(Placement{
		Name:     "olmo2",
		Paper:    `OLMo 2 (arXiv 2501.00656); first in Swin V2 (arXiv 2111.09883)`,
		Equation: "x <- x + Norm(F(x)); y = Norm(x) after the last block",
		About: `The norm sits on the branch's output, inside the skip, and nothing is normed on the way in ("reordered norm").
Optimizer: as pre; fewer spikes of loss and gradient in the paper's runs. OLMo 2 also norms queries and keys over their whole width
(model.attention.qk_norm: full), which this placement does not switch on by itself.
Traps: sub-layers read the raw stream, so attention scores grow with it unless queries and keys are normed.`,
		Backward: `dL/dx_in = dL/dx_out                       straight: the identity
         + J_F' J_NormOut' dL/dx_out       branch: damped where F's output is large`,
		Diagram:   sketch{branch: "F NormOut"}.draw(),
		Begin:     one,
		Block:     each(olmo2),
		FinalNorm: true,
		Base:      "fan_in",
		Writers:   "plain",
	})
}

// olmo2 is x + Norm(F(x)).
func olmo2(p Part, x graph.Tensor, f Sublayer) graph.Tensor {
	return p.add(x, p.norm("out", f(x, Inner{})))
}
