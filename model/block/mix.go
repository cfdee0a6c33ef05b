package block

func init() {
	Register(Placement{
		Name:     "mix",
		Paper:    `Li et al. 2024, Mix-LN (arXiv 2412.13795)`,
		Equation: "post in the first N/4 blocks (rounded down), pre in the rest; y = Norm(x) after the last block",
		About: `Post where gradients are large anyway, pre where post would lose them.
Optimizer: a warm-up, because of the first blocks.
Traps: under 4 blocks none would be post, so it is refused; in a follow-up's runs at 350M and 1B it failed (arXiv 2502.05795).`,
		Backward: `blocks 1 … N/4:   as post
the other blocks: as pre`,
		Diagram: Diagram{
			Forward: `blocks 1 … N/4
` + sketch{branch: "F", after: "Norm"}.forward() + `
the other blocks
` + sketch{branch: "Norm F"}.forward(),
			Backward: `blocks 1 … N/4
` + sketch{branch: "F", after: "Norm"}.backward() + `
the other blocks
` + sketch{branch: "Norm F"}.backward(),
		},
		Begin:     one,
		Block:     mix,
		FinalNorm: true,
		Base:      "fan_in",
		Writers:   "plain",
		MinLayers: 4,
		Warmup:    true,
	})
}

// mix is post in the first quarter of the blocks and pre after it.
func mix(s Stack, l int, in Streams, attn, mlp Sublayer) Streams {
	if l <= s.Layers/4 {
		return each(post)(s, l, in, attn, mlp)
	}
	return each(pre)(s, l, in, attn, mlp)
}
