package op_test

import (
	"math"
	"slices"
	"testing"

	"prenorm/kernels"
)

// TestGradScale wants the call to leave the value as it is and to multiply the gradient by t, by every t.
func TestGradScale(t *testing.T) {
	run := func(factor float64) (loss float64, grad []float64) {
		p := newProblem(3)
		x := p.x("x", 3, 5)
		y := p.Apply("act", kernels.Activation{Kind: "silu"}, p.Apply("t", kernels.GradScale{}, x, p.Constant("factor", []float64{factor}, 1)))
		p.loss = p.head(y)
		p.compile(t)
		return p.value(t), slices.Clone(p.view(t, "grad.x"))
	}
	loss, full := run(1)
	for _, factor := range []float64{0, 0.5, -1} {
		same, scaled := run(factor)
		if same != loss {
			t.Errorf("t = %g changes the loss from %v to %v", factor, loss, same)
		}
		for i := range full {
			if math.Abs(scaled[i]-factor*full[i]) > 1e-15 {
				t.Errorf("t = %g: gradient %d is %g, want %g times %g", factor, i, scaled[i], factor, full[i])
			}
		}
	}
}
