package schedule

var _ = register("linear", linear)

// linear falls evenly: course(t) = min + (1-min) (1-t) (Devlin et al., arXiv 1810.04805, appendix A.2).
func linear(c Config) (course, error) {
	return func(t float64) float64 { return fall(c.Min, 1-t) }, nil
}
