package block

import "prenorm/model/graph"

func init() {
	Register(Placement{
		Name:     "layerscale",
		Paper:    `Touvron et al. 2021, CaiT (arXiv 2103.17239)`,
		Equation: "x <- x + lambda * F(Norm(x)), lambda a trained vector; y = Norm(x) after the last block",
		About: `Pre with a trained factor for every column of a branch, which starts small: 0.1 up to 18 blocks, 1e-5 up to 24, 1e-6 beyond. A deep model starts
near the identity and opens its branches as it learns.
Optimizer: as pre.
Traps: with tiny factors the branches' own gradients start tiny too.`,
		Backward: `dL/dx_in = dL/dx_out                                straight: the identity
         + J_Norm' J_F' (lambda * dL/dx_out)        branch: as far as lambda has opened it`,
		Diagram:   sketch{branch: "Norm F ×lambda"}.draw(),
		Begin:     one,
		Block:     each(layerscale),
		FinalNorm: true,
		Base:      "fan_in",
		Writers:   "plain",
		Gate:      layerScaleStart,
	})
}

// layerscale is x + lambda F(Norm(x)), column by column.
func layerscale(p Part, x graph.Tensor, f Sublayer) graph.Tensor {
	return p.add(x, p.Gated(p.name("scale"), f(p.norm("in", x), Inner{}), x.Shape()[1]))
}

// layerScaleStart is where lambda starts (CaiT, section 4.2).
func layerScaleStart(layers int) float64 {
	switch {
	case layers <= 18:
		return 0.1
	case layers <= 24:
		return 1e-5
	}
	return 1e-6
}
