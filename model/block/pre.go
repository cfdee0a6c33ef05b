package block

import "prenorm/model/graph"

func init() {
	Register(Placement{
		Name:     "pre",
		Paper:    "Wang et al. 2019 (arXiv 1906.01787); Baevski & Auli 2019 (arXiv 1809.10853); GPT-2",
		Equation: "x <- x + Attn(Norm(x)); x <- x + MLP(Norm(x)); y = Norm(x) after the last block",
		Begin:    func(_ Stack, embedding graph.Tensor) Streams { return Streams{X: embedding} },
		Block: func(s Stack, l int, in Streams, attn, mlp Sublayer) Streams {
			x := in.X
			x = s.Add(s.Name(l, "attn_residual"), x, attn(s.Norm(s.Name(l, "attn_norm_in"), x), Inner{}))
			x = s.Add(s.Name(l, "mlp_residual"), x, mlp(s.Norm(s.Name(l, "mlp_norm_in"), x), Inner{}))
			return Streams{X: x}
		},
		End: func(s Stack, in Streams) graph.Tensor { return s.Norm("norm", in.X) },
	})
}
