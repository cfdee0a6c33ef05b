package model

import (
	"math"
	"strings"
	"testing"

	"prenorm/kernels"
)

// TestWholeModelGradients holds the gradient of a few elements of every parameter against fourth-order central differences of the loss, in
// float64, for every variant.
func TestWholeModelGradients(t *testing.T) {
	for name, c := range variants() {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, c, Options{B: 2, T: 7, DType: kernels.F64, Documents: name == "full"}, false)
			worst := 0.0
			for i, p := range r.net.Table() {
				r.step(t)
				got := append([]float64{}, r.grads.View(i).F64()...)
				largest := 0.0
				for _, g := range got {
					largest = max(largest, math.Abs(g))
				}
				// Without RoPE a bias of the keys adds one number to all scores of a query, which softmax does not see.
				unseen := strings.HasSuffix(p.Name, "k_proj.bias") && c.Position.Kind == "learned"
				if unseen != (largest < 1e-12) {
					t.Errorf("the largest gradient of %s is %g", p.Name, largest)
				}
				for _, k := range []int{0, len(got) / 2, len(got) - 1} {
					want := r.derivative(t, &r.params.View(i).F64()[k])
					e := math.Abs(got[k]-want) / max(math.Abs(want), 1e-3*largest, 1e-6)
					if worst = max(worst, e); !(e < 1e-7) {
						t.Errorf("%s[%d]: gradient %.12g, differences %.12g (relative error %.2g)", p.Name, k, got[k], want, e)
					}
				}
			}
			t.Logf("worst relative error %.2g", worst)
		})
	}
}

// derivative is the fourth-order central difference of the loss by *x.
func (r *run) derivative(t *testing.T, x *float64) float64 {
	t.Helper()
	at, h := *x, 1e-3
	value := func(shift float64) float64 {
		*x = at + shift
		return r.step(t)
	}
	d := (8*(value(h)-value(-h)) - (value(2*h) - value(-2*h))) / (12 * h)
	*x = at
	return d
}
