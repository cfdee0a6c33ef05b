package train

import (
	"errors"
	"math"
)

// Result is what a step says of itself.
type Result struct {
	Loss     float64 // mean over the step's targets, in nats
	GradNorm float64 // global, before clipping
	Clip     float64 // the factor that gradients were multiplied by; NaN when loss or norm were not finite or above [Limits], and then nothing was updated
}

// Limits are the loss and the norm of the gradient above which a step is not applied.
type Limits struct {
	Loss     float32 `json:"loss"`
	GradNorm float32 `json:"grad_norm"`
}

// NoLimits have every step applied whose loss and norm are finite.
var NoLimits = Limits{math.MaxFloat32, math.MaxFloat32}

// Limit sets the limits of the steps from here on, and how many of the steps before them left no trace in weights and moments: the optimizer
// does not count these.
func (s *Stepper) Limit(l Limits, unapplied int64) {
	s.ratesHost.data[0], s.ratesHost.data[1], s.unapplied = l.Loss, l.GradNorm, unapplied
}

// Applied says whether the step changed anything.
func (r Result) Applied() bool { return !math.IsNaN(r.Clip) }

// Finite says whether loss and gradient are numbers.
func (r Result) Finite() bool { return !notFinite(r.Loss) && !notFinite(r.GradNorm) }

func (s *Stepper) read() (Result, error) {
	err := errors.Join(s.download("loss", s.lossHost.boxed, s.loss), s.download("norm", s.normHost.boxed, s.norm), s.download("clip", s.clipHost.boxed, s.clip))
	return Result{Loss: float64(s.lossHost.data[0]), GradNorm: float64(s.normHost.data[0]), Clip: float64(s.clipHost.data[0])}, err
}
