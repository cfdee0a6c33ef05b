package block

import "prenorm/model/graph"

func init() {
	Register(Placement{
		Name:     "hybrid",
		Paper:    `Zhuo et al. 2025, HybridNorm (arXiv 2503.04598)`,
		Equation: "y = x + Attn(x) with normed queries, keys and values; z = Norm(y); x <- z + MLP(z); y = Norm(x) at the end",
		About: `Attention has no norm on its input but norms on queries, keys and values, head by head; the MLP is post-like with the skip taken after its norm
(it is not Norm(y + MLP(y))).
Optimizer: as pre. It brings its own norms of queries and keys: model.attention.qk_norm must stay none.
Traps: the norm on the stream rescales the straight path once a block.`,
		Backward: `attention: dL/dx = dL/dy                            straight: the identity
                 + J_Attn' dL/dy                    branch: through the norms of q, k and v
MLP:       dL/dy = J_Norm' dL/dx'                   straight: rescaled once a block
                 + J_Norm' J_MLP' dL/dx'            branch: the same norm after the MLP`,
		Diagram: Diagram{
			Forward: `x ─┬─────────────────────────────(+)── Norm ─┬─────────(+)──> x'
   └── Attn (Norm on q, k, v) ────┘          └── MLP ───┘`,
			Backward: `g <─(+)<────────────┬<─ J_Norm' <─(+)<───────────┬<─ g'   straight
     └<─ J_Attn' <──┘              └<─ J_MLP' <──┘         branch`,
		},
		Begin:     one,
		Block:     hybrid,
		FinalNorm: true,
		Base:      "fan_in",
		Writers:   "scaled",
		OwnQKNorm: true,
	})
}

// hybrid is one block of HybridNorm.
func hybrid(s Stack, l int, in Streams, attn, mlp Sublayer) Streams {
	head := func(name string) func(graph.Tensor) graph.Tensor {
		return func(x graph.Tensor) graph.Tensor { return s.HeadNorm(s.Name(l, "self_attn."+name+"_norm"), x) }
	}
	a := s.part(l, "attn", in.X)
	y := a.end(a.add(in.X, attn(in.X, Inner{Q: head("q"), K: head("k"), V: head("v")})))
	z := s.Norm(s.Name(l, "mlp_norm_in"), y)
	m := s.part(l, "mlp", z)
	return Streams{X: m.end(m.add(z, mlp(z, Inner{})))}
}
