package block

import "prenorm/model/graph"

func init() {
	Register(Placement{
		Name:     "none",
		Paper:    `none: the residual stream of He et al. 2016 (arXiv 1512.03385) without any norm`,
		Equation: "x <- x + F(x)",
		About: `No norm anywhere, to show what the norm is for: nothing keeps the stream's size, and the head reads it as it is.
Optimizer: small learning rates; expect divergence at those that pre takes.`,
		Backward: `dL/dx_in = dL/dx_out                    straight: the identity
         + J_F' dL/dx_out               branch: grows with the stream`,
		Diagram: sketch{branch: "F"}.draw(),
		Begin:   one,
		Block:   each(none),
		Base:    "fan_in",
		Writers: "scaled",
	})
}

// none is x + F(x).
func none(p Part, x graph.Tensor, f Sublayer) graph.Tensor {
	return p.add(x, f(x, Inner{}))
}
