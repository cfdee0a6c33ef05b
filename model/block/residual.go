package block

import "prenorm/model/graph"

func init() {
	Register(Placement{
		Name:     "residual",
		Paper:    `Xie et al. 2023, ResiDual (arXiv 2304.14802)`,
		Equation: "f = F(x); x <- Norm(x + f); r <- r + f; y = x + Norm(r)",
		About: `Two streams, both starting at the embedding: x is post's and feeds the sub-layers, r collects their raw outputs as pre's stream does. The head
reads their sum, so the gradient always has a straight path through r.
Optimizer: as pre in the paper's runs; no special initialisation.
Traps: r grows with depth and is normed once, at the end.`,
		Backward: `dL/dr_in = dL/dr_out                                  straight: the identity, from the head to every block
dL/dx_in = J_Norm' dL/dx_out                          straight along x: rescaled as in post
         + J_F' (J_Norm' dL/dx_out + dL/dr_out)       branch: fed by both streams`,
		Diagram: Diagram{
			Forward: `r ───────────(+)───────────────> r'
              │
x ─┬── F ─────┤
   └─────────(+)── Norm ──────────> x'`,
			Backward: `g_r <───────────────────────┬──────────────────── g_r'   straight, untouched
                            │
g_x <─(+)<─ J_F' <─────────(+)<─┐                        branch, fed by both streams
       └<───────────────────────┴<─ J_Norm' <──── g_x'   straight along x`,
		},
		FinalNorm: true,
		Begin:     func(_ Stack, embedding graph.Tensor) Streams { return Streams{X: embedding, R: embedding} },
		Block:     residual,
		End:       func(s Stack, in Streams) graph.Tensor { return s.Add("dual", in.X, s.Norm("norm", in.R)) },
		Base:      "xavier",
		Writers:   "plain",
	})
}

// residual is x <- Norm(x + F(x)) beside r <- r + F(x), for attention and then for the MLP.
func residual(s Stack, l int, in Streams, attn, mlp Sublayer) Streams {
	for _, sub := range []struct {
		kind string
		f    Sublayer
	}{{"attn", attn}, {"mlp", mlp}} {
		p, r := s.part(l, sub.kind, in.X), s.part(l, sub.kind+".r", in.R)
		f := sub.f(in.X, Inner{})
		dual := p.straight(r.straight(p.Add(p.name("dual"), in.R, f))) // of p, too: both streams start at the embedding
		r.fork.Branch = f
		in = Streams{X: p.end(p.norm("out", p.add(in.X, f))), R: r.end(dual)}
	}
	return in
}
