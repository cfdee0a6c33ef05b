package block

func init() {
	Register(Placement{
		Name:     "peri",
		Paper:    `Kim et al. 2025, Peri-LN (arXiv 2502.02732)`,
		Equation: "x <- x + Norm(F(Norm(x))); y = Norm(x) after the last block; model.norm.embed adds a norm on the embedding",
		About: `The equation of sandwich; the paper's own are the analysis (the stream's variance grows about linearly in training, where that of pre can grow
exponentially) and an optional norm on the embedding, which is off unless model.norm.embed is set.
Optimizer: as pre; the paper saw no divergence in five seeds where pre had one or two.
Traps: the outer norm's gain must be trained. It is not a norm after the addition: that is post.`,
		Backward:  normsAround,
		Diagram:   sketch{branch: "NormIn F NormOut"}.draw(),
		Begin:     one,
		Block:     each(sandwich),
		FinalNorm: true,
		Base:      "fan_in",
		Writers:   "plain",
	})
}
