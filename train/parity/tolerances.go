package parity

import (
	"prenorm/kernels"
	"prenorm/model"
)

// Tolerances of a comparison.
type Tolerances struct {
	Logits       float64 // largest absolute difference
	Loss         float64 // relative
	Grad         float64 // ‖Δ‖ ≤ Grad·‖g‖ + GradOfAll·‖all gradients‖: some gradients are zero in exact arithmetic
	GradOfAll    float64
	OutputNorm   float64 // Grad of models that norm the outputs of their sub-layers only (placement olmo2)
	StepLoss     float64 // of the trajectory, times max(loss, 0.1)
	StepGradNorm float64 // of the trajectory, relative
}

// Default are the tolerances for float32 programs.
var Default = Tolerances{Logits: 2e-5, Loss: 1e-6, Grad: 1e-4, GradOfAll: 1e-7, OutputNorm: 1e-4, StepLoss: 1e-4, StepGradNorm: 1e-3}

// BF16 are the tolerances for bfloat16 programs, whose operands of products are rounded to u = 2^-8 relative. A logit has passed some dozen
// roundings on its way through three blocks, which add up like a random walk, and the logits of the files are below 10: a few u of that. The loss
// averages over rows, so it is better by the root of their number. A gradient passes the same way back. The trajectory adds them up over 20
// steps, to a loss of a few tenths whose gradient is small beside its error. The reference in bfloat16, which rounds where the policy of
// model/exec says and nowhere else, reaches logits 0.11, loss 1.1e-3, gradients 3.7 %, trajectory 1 % and 15 % on the worst of 24 models.
//
// The worst gradient is that of the placement olmo2, whose sub-layers read a stream that no norm bounds. No one operation makes its error: with
// norms, gates or their gradients kept in float32 it is between 3.2 and 4.4 %, and another order of the same sums makes it 4.1 %.
var BF16 = Tolerances{Logits: 0.125, Loss: 2e-3, Grad: 0.04, GradOfAll: 1e-3, OutputNorm: 0.05, StepLoss: 0.03, StepGradNorm: 0.3}

// Of returns the tolerances for a backend's precision. Factors in tf32 have 2^-11, an eighth of the error of bfloat16, and only in products.
func Of(p kernels.Precision) Tolerances {
	switch p {
	case kernels.PrecisionBF16:
		return BF16
	case kernels.PrecisionTF32:
		return BF16.Scaled(1.0 / 8)
	}
	return Default
}

// Scaled multiplies every tolerance.
func (t Tolerances) Scaled(f float64) Tolerances {
	return Tolerances{t.Logits * f, t.Loss * f, t.Grad * f, t.GradOfAll * f, t.OutputNorm * f, t.StepLoss * f, t.StepGradNorm * f}
}

// of are the tolerances for a model.
func (t Tolerances) of(c model.Config) Tolerances {
	if c.Norm.Placement == "olmo2" {
		t.Grad = t.OutputNorm
	}
	return t
}
