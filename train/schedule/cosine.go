package schedule

import "math"

var _ = register("cosine", cosine)

// cosine is half a period of the cosine, without restarts: course(t) = min + (1-min) (1 + cos πt)/2 (Loshchilov & Hutter, arXiv
// 1608.03983, equation 5).
func cosine(c Config) (course, error) {
	return func(t float64) float64 { return fall(c.Min, (1+math.Cos(math.Pi*t))/2) }, nil
}
