package lab

import "math"

// Law is a published or derived figure of models before training, and the band in which a measurement meets it.
type Law struct {
	ID        string // of the scorecard
	Variant   string // of set-up norms
	Claim     string
	what      string // the figure's name
	Source    string
	Low, High float64
	measure   func([]Depth) float64
}

// Holds says whether a measured figure is in the law's band.
func (l Law) Holds(v float64) bool { return v >= l.Low && v <= l.High }

// Measure takes the law's figure from a variant's depths.
func (l Law) Measure(depths []Depth) float64 {
	if len(depths) == 0 {
		return math.NaN()
	}
	return l.measure(depths)
}

func gradientSlope(d []Depth) float64 { g, _ := Slopes(d); return g }
func sizeSlope(d []Depth) float64     { _, s := Slopes(d); return s }

// unevenness is the largest gradient of a block over the smallest, at the depth where that is worst.
func unevenness(d []Depth) float64 {
	worst := 0.0
	for _, one := range d {
		worst = max(worst, one.Uneven.Mean)
	}
	return worst
}

// growth is the stream's size in the deepest model over that in the shallowest.
func growth(d []Depth) float64 { return d[len(d)-1].Stream.Mean / d[0].Stream.Mean }

const (
	xiong   = "Xiong et al. 2020 (arXiv 2002.04745), theorem 1"
	wang    = "DeepNet (arXiv 2203.00555); alpha and beta give 1/(2 sqrt N)"
	keel    = "Keel (arXiv 2601.19895); alpha = 2N"
	scaling = "derived: 2N additions of 1/(2N) of the variance each"
)

// Laws are the figures of set-up norms over the depths of [DefaultInit]. The exponents are those of the number of blocks.
func Laws() []Law {
	return []Law{
		{"S1", "post", "the last block's MLP gradient does not depend on depth", "exponent of the gradient", xiong, -0.15, 0.15, gradientSlope},
		{"S2", "pre", "the last block's MLP gradient goes as L^-0.5 (writers not scaled)", "exponent of the gradient", xiong, -0.65, -0.35, gradientSlope},
		{"S3", "pre+scaled", "with writers at 1/sqrt(2N) that gradient does not depend on depth", "exponent of the gradient", scaling, -0.15, 0.15, gradientSlope},
		{"S3", "pre+scaled", "with writers at 1/sqrt(2N) the stream's size does not depend on depth (deepest over shallowest)", "size, deepest over shallowest", scaling, 0.8, 1.25, growth},
		{"S4", "pre", "the stream's size goes as L^0.5 (writers not scaled)", "exponent of the size", xiong, 0.35, 0.65, sizeSlope},
		{"S5", "deepnorm", "the last block's MLP gradient goes as L^-0.5", "exponent of the gradient", wang, -0.55, -0.45, gradientSlope},
		{"S5", "deepnorm", "all blocks have gradients of one size (largest over smallest)", "largest over smallest", wang, 1, 1.1, unevenness},
		{"S6", "keel", "the last block's MLP gradient goes as 1/L", "exponent of the gradient", keel, -1.05, -0.95, gradientSlope},
		{"S6", "keel", "all blocks have gradients of one size (largest over smallest)", "largest over smallest", keel, 1, 1.1, unevenness},
	}
}

// reference are exponents of the last block's gradient in set-up norms that an independent program measured in float64 with four other seeds.
var reference = map[string]float64{
	"post": 0.04, "pre": -0.56, "pre+scaled": -0.04, "deepnorm": -0.51, "residual": 0.05, "sandwich": -0.44, "olmo2": -0.43, "mix": -0.54, "lns": -0.72,
	"lns+scaled": -0.28, "hybrid": 0, "subln": -0.66, "b2t": -0.52, "keel": -1, "dyt": 0.87,
}

// Reference returns the independent program's exponent of the last block's gradient, NaN where there is none.
func Reference(variant string) float64 {
	if r, ok := reference[variant]; ok {
		return r
	}
	return math.NaN()
}
