package block

import "prenorm/model/graph"

func init() {
	Register(Placement{
		Name:     "post",
		Paper:    `Vaswani et al. 2017 (arXiv 1706.03762); BERT; GPT-1`,
		Equation: "x <- Norm(x + F(x)); no final norm: the last operation is one",
		About: `The original Transformer. Each residual addition is followed by a norm, so the stream keeps its size by construction and every sub-layer reads
values of one scale; the straight path is rescaled by each norm.
Optimizer: wants a warm-up of the learning rate (Xiong et al. 2020, arXiv 2002.04745: at the start the last layer's gradient is large and does not
shrink with depth) and a smaller rate than pre.
Traps: deep models often stay at the loss of the unigram distribution without any error; look at the reference lines of your text.`,
		Backward: `dL/dx_in = J_Norm' dL/dx_out            straight: rescaled by every norm, by about the stream's size before it
         + J_F' J_Norm' dL/dx_out       branch: the same norm, then F`,
		Diagram: sketch{branch: "F", after: "Norm"}.draw(),
		Begin:   one,
		Block:   each(post),
		Base:    "xavier",
		Writers: "plain",
		Warmup:  true,
	})
}

// post is Norm(x + F(x)).
func post(p Part, x graph.Tensor, f Sublayer) graph.Tensor {
	return p.norm("out", p.add(x, f(x, Inner{})))
}
