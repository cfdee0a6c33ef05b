package block

import "math"

func init() {
	Register(Placement{
		Name:     "b2t",
		Paper:    `Takase et al. 2022, B2T connection (arXiv 2206.00330)`,
		Equation: "h = Norm(x + Attn(x)); x <- Norm(x + h + MLP(h)); no final norm",
		About: `Post with one more skip, from the bottom of the block past its inner norm to the sum before the outer one.
Optimizer: as post, less sensitive to it.
Traps: values, output projections and the MLP start smaller by 1/sqrt(N), as in the authors' code.`,
		Backward: `with s = J_Norm' dL/dx_out:
dL/dx_in = s                                        straight, past the inner norm: rescaled once a block
         + (1 + J_Attn') J_NormIn' (s + J_MLP' s)   through the inner norm`,
		Diagram: Diagram{
			Forward: `   ┌───────────────────────────────┐
x ─┼────────(+)── NormIn ── h ─┬──(+)──(+)── Norm ──> x'
   └── Attn ─┘                 └── MLP ─┘`,
			Backward: `   ┌<───────────────────────────────────────────────┐
g <┴─(+)<──────────┬<─ J_NormIn' <─(+)<─────────────┼<─ J_Norm' <─ g'
      └<─ J_Attn' <┘                └<─ J_MLP' <────┘
      top: straight from the block's end to its start, past NormIn`,
		},
		Begin:   one,
		Block:   b2t,
		Base:    "xavier",
		Writers: "plain",
		Factor:  "1/sqrt(N)",
		Init:    onBranches(func(layers int) float64 { return 1 / math.Sqrt(float64(layers)) }),
	})
}

// b2t is one block with its bottom-to-top skip.
func b2t(s Stack, l int, in Streams, attn, mlp Sublayer) Streams {
	a := s.part(l, "attn", in.X)
	h := a.end(a.norm("out", a.add(in.X, attn(in.X, Inner{}))))
	m := s.part(l, "mlp", h)
	skip := a.straight(m.straight(m.Add(m.name("skip"), in.X, h)))
	return Streams{X: m.end(m.norm("out", m.add(skip, mlp(h, Inner{}))))}
}
