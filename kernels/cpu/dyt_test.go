package cpu

import (
	"math"
	"testing"
)

// TestVectorTanh compares the tanh of every tier with float64: one and a half units in the last place where results are normal numbers, and the sign, the
// ends and NaN as they must be.
func TestVectorTanh(t *testing.T) {
	var x []float32
	for v := -20.0; v <= 20; v += 1. / 512 {
		x = append(x, float32(v*1.0001), float32(math.Copysign(math.Exp(-math.Abs(4*v)), v)))
	}
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	x = append(x, 0.625, -0.625, math.Nextafter32(0.625, 0), 1e30, -1e30, inf, -inf, nan)
	ones, zeros := make([]float32, len(x)), make([]float32, len(x))
	for i := range ones {
		ones[i] = 1
	}
	for _, level := range tiers() {
		y := make([]float32, len(x))
		level.dyt(y, x, ones, zeros, 1)
		worst, at := 0.0, float32(0)
		for i, v := range x {
			want := math.Tanh(float64(v))
			if math.IsNaN(want) {
				if y[i] == y[i] {
					t.Errorf("%s: tanh %g = %g", level.name, v, y[i])
				}
				continue
			}
			ulp := float64(math.Nextafter32(float32(math.Abs(want)), inf) - float32(math.Abs(want)))
			if e := math.Abs(float64(y[i])-want) / ulp; !(e <= worst) {
				worst, at = e, v
			}
			if math.Abs(float64(y[i])) > 1 || math.Abs(float64(v)) > 20 && y[i] != float32(want) {
				t.Errorf("%s: tanh %g = %g", level.name, v, y[i])
			}
		}
		t.Logf("%s: at most %.2f units in the last place, at %g", level.name, worst, at)
		if !(worst <= 1.5) {
			t.Errorf("%s: tanh %g is off by %.2f units in the last place", level.name, at, worst)
		}
	}
}
