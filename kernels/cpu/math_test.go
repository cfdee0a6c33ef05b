package cpu

import (
	"math"
	"testing"
)

// TestFunctions compares with float64 over the range where results are normal numbers, every 1/512.
func TestFunctions(t *testing.T) {
	for _, f := range []struct {
		name  string
		fast  func(float32) float32
		exact func(float64) float64
		reach float64
		limit float64 // relative
	}{
		{"exp32", exp32, math.Exp, 86.8, 1.2e-7},
		{"sigmoid32", sigmoid32, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 86.8, 2.5e-7},
		{"tanh32", tanh32, math.Tanh, 100, 2.5e-7},
	} {
		worst, at := 0.0, float32(0)
		for x := -f.reach; x <= f.reach; x += 1. / 512 {
			v := float32(x * 1.0001)
			if math.Abs(float64(v)) > f.reach {
				continue
			}
			want := f.exact(float64(v))
			if want == 0 {
				continue
			}
			if e := math.Abs(float64(f.fast(v))/want - 1); !(e <= worst) {
				worst, at = e, v
			}
		}
		t.Logf("%s: relative error at most %.3g, at %g", f.name, worst, at)
		if !(worst <= f.limit) {
			t.Errorf("%s: relative error %.3g at %g, allowed %.3g", f.name, worst, at, f.limit)
		}
	}
}

func TestFunctionsAtTheEnds(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		name      string
		got, want float32
	}{
		{"exp(-inf)", exp32(-inf), 0}, {"exp(-1000)", exp32(-1000), 0}, {"exp(1000)", exp32(1000), inf}, {"exp(inf)", exp32(inf), inf}, {"exp(0)", exp32(0), 1},
		{"sigmoid(-inf)", sigmoid32(-inf), 0}, {"sigmoid(inf)", sigmoid32(inf), 1}, {"sigmoid(0)", sigmoid32(0), 0.5},
		{"tanh(-inf)", tanh32(-inf), -1}, {"tanh(inf)", tanh32(inf), 1}, {"tanh(0)", tanh32(0), 0}, {"tanh(-1e30)", tanh32(-1e30), -1},
	} {
		if c.got != c.want {
			t.Errorf("%s = %g, want %g", c.name, c.got, c.want)
		}
	}
	for name, v := range map[string]float32{"exp": exp32(nan), "sigmoid": sigmoid32(nan), "tanh": tanh32(nan), "maximum": maximumGo([]float32{1, nan, 3})} {
		if v == v {
			t.Errorf("%s of NaN is %g", name, v)
		}
	}
	if v := exp32(88.7); math.Abs(float64(v)/math.Exp(float64(float32(88.7)))-1) > 2e-7 {
		t.Errorf("exp(88.7) = %g", v)
	}
}
