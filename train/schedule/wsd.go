package schedule

import (
	"fmt"
	"math"
)

var _ = register("wsd", wsd)

// wsd is warm-up, stable, decay (Hu et al., MiniCPM, arXiv 2404.06395, section 4.3): at the peak until the last D = Decay·Steps updates,
// rounded, in which it falls evenly to min (the linear cool-down of Hägele et al., arXiv 2405.18392).
//
//	course(t) = 1 for u >= D;  min + (1-min) u/D for u < D,  u = (1-t)(N-W), the updates that are left
func wsd(c Config) (course, error) {
	if !(c.Decay > 0 && c.Decay <= 1) {
		return nil, fmt.Errorf("decay is %v, must be above 0 and at most 1: it is a share of steps", c.Decay)
	}
	rest := float64(c.Steps - c.Warmup)
	down := max(1, math.Round(c.Decay*float64(c.Steps)))
	if down > rest {
		return nil, fmt.Errorf("decay over %v steps and warmup over %d do not fit into %d steps: lower one of them", down, c.Warmup, c.Steps)
	}
	return func(t float64) float64 { return fall(c.Min, min(1, (1-t)*rest/down)) }, nil
}
