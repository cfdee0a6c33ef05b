package block

import "prenorm/model/graph"

func init() {
	Register(Placement{
		Name:     "pre",
		Paper:    `Wang et al. 2019 (arXiv 1906.01787); Baevski & Auli 2019 (arXiv 1809.10853); GPT-2`,
		Equation: "x <- x + F(Norm(x)); y = Norm(x) after the last block",
		About: `The placement of GPT-2, LLaMA, Mistral and Qwen, and the default. The stream is never normed on its way, so every block adds to what it was
given; a final norm is required, because the stream grows with depth.
Optimizer: trains without warm-up (Xiong et al. 2020, arXiv 2002.04745); a short one does no harm. Tolerates large learning rates.
Traps: the stream's size grows with depth, so late blocks change it less and less ("curse of depth", arXiv 2502.05795). The 1/sqrt(2N) on the
matrices that write to the stream keeps its size independent of depth at the start.`,
		Backward: `dL/dx_in = dL/dx_out                    straight: the identity, whatever the depth
         + J_Norm' J_F' dL/dx_out       branch: through F and its norm, which divides by the stream's size`,
		Diagram:   sketch{branch: "Norm F"}.draw(),
		Begin:     one,
		Block:     each(pre),
		FinalNorm: true,
		Base:      "fan_in",
		Writers:   "scaled",
	})
}

// pre is x + F(Norm(x)).
func pre(p Part, x graph.Tensor, f Sublayer) graph.Tensor {
	return p.add(x, f(p.norm("in", x), Inner{}))
}
