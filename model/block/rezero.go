package block

import "prenorm/model/graph"

func init() {
	Register(Placement{
		Name:     "rezero",
		Paper:    `Bachlechner et al. 2020, ReZero (arXiv 2003.04887)`,
		Equation: "x <- x + a F(x), a one trained number a sub-layer, 0 at the start; no norm",
		About: `No norm at all: each branch has one trained factor that starts at zero, so the model starts as the identity. The authors share a factor between
the two sub-layers of a block; here each has its own.
Optimizer: as pre; in the first step only the factors move, as every branch's gradient is multiplied by them.`,
		Backward: `dL/dx_in = dL/dx_out                    straight: the identity
         + a J_F' dL/dx_out             branch: nothing at the start
dL/da    = F(x) · dL/dx_out             all that is learned in the first step`,
		Diagram: sketch{branch: "F ×a"}.draw(),
		Begin:   one,
		Block:   each(rezero),
		Base:    "fan_in",
		Writers: "plain",
		Gate:    func(int) float64 { return 0 },
	})
}

// rezero is x + a F(x).
func rezero(p Part, x graph.Tensor, f Sublayer) graph.Tensor {
	return p.add(x, p.Gated(p.name("gate"), f(x, Inner{}), 1))
}
