package lab

import (
	"math"
	"testing"
)

func TestFits(t *testing.T) {
	x := []float64{6, 12, 24, 48}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = 3 * math.Pow(v, -0.5)
	}
	if s := Slope(x, y); math.Abs(s+0.5) > 1e-12 {
		t.Errorf("slope %g, want -0.5", s)
	}
	if s := Slope(x, []float64{1, 0, 1, 1}); !math.IsNaN(s) {
		t.Errorf("slope of a value of zero is %g", s)
	}
	a, b, r2 := Line([]float64{0, 1, 2}, []float64{1, 3, 5})
	if math.Abs(a-1)+math.Abs(b-2)+math.Abs(r2-1) > 1e-12 {
		t.Errorf("line %g + %g x, r2 %g", a, b, r2)
	}
	if s := SpreadOf(3, 1, 2); s != (Spread{2, 1, 3, 3}) {
		t.Errorf("spread %+v", s)
	}
	if c := cosine([]float64{1, 0, 0, 2}, []float64{2, 0, 3, 0}, 2); c != 0.5 {
		t.Errorf("mean cosine %g, want that of 1 and 0", c)
	}
}
