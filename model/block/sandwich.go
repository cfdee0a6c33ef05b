package block

import "prenorm/model/graph"

func init() {
	Register(Placement{
		Name:     "sandwich",
		Paper:    `Ding et al. 2021, CogView (arXiv 2105.13290); Gemma 2 (arXiv 2408.00118)`,
		Equation: "x <- x + Norm(F(Norm(x))); y = Norm(x) after the last block",
		About: `A norm before and one after each sub-layer, inside the skip: whatever F does, it adds rows of one size to the stream. Gemma 2 and 3 use it.
Optimizer: as pre. Two more norms a block cost time and parameters.
Traps: the gain of the outer norm decides how much a block may add; the writers' 1/sqrt(2N) has no effect on it.`,
		Backward:  normsAround,
		Diagram:   sketch{branch: "NormIn F NormOut"}.draw(),
		Begin:     one,
		Block:     each(sandwich),
		FinalNorm: true,
		Base:      "fan_in",
		Writers:   "scaled",
	})
}

// sandwich is x + Norm(F(Norm(x))).
func sandwich(p Part, x graph.Tensor, f Sublayer) graph.Tensor {
	return p.add(x, p.norm("out", f(p.norm("in", x), Inner{})))
}

// normsAround is the way back through a sub-layer with a norm before and one after it.
const normsAround = `dL/dx_in = dL/dx_out                                 straight: the identity
         + J_NormIn' J_F' J_NormOut' dL/dx_out       branch: damped where F's output is large, as NormOut divides by it`
