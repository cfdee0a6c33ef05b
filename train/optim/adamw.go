package optim

import (
	"fmt"
	"math"

	"prenorm/kernels"
)

var _ = register("adamw", newAdamW)

// adamW is Adam with decoupled weight decay (Loshchilov & Hutter, arXiv 1711.05101; Adam: Kingma & Ba, arXiv 1412.6980).
//
//	m = β1 m + (1-β1) g;  v = β2 v + (1-β2) g²
//	p = p (1 - lr λ) - lr (m/(1-β1^step)) / (sqrt(v/(1-β2^step)) + ε)
//
// Config: Betas = {β1, β2}, Eps = ε. State: m, v. Hyper: {lr, 1-β1^step, 1-β2^step}.
type adamW struct{ beta1, beta2, eps float64 }

func newAdamW(c Config) (Optimizer, error) {
	if len(c.Betas) != 2 {
		return nil, fmt.Errorf("betas has %d numbers, must have 2, such as [0.9, 0.95]", len(c.Betas))
	}
	for i, beta := range c.Betas {
		if err := checkRate(fmt.Sprintf("betas[%d]", i), beta); err != nil {
			return nil, err
		}
	}
	if !(c.Eps > 0) || math.IsInf(c.Eps, 1) {
		return nil, fmt.Errorf("eps is %v, must be above 0, such as 1e-8", c.Eps)
	}
	return adamW{c.Betas[0], c.Betas[1], c.Eps}, nil
}

func (adamW) Kind() string    { return "adamw" }
func (adamW) State() []string { return []string{"m", "v"} }

func (o adamW) Update(weightDecay float64) kernels.Call {
	return kernels.AdamW{Beta1: o.beta1, Beta2: o.beta2, Eps: o.eps, WeightDecay: weightDecay}
}

func (o adamW) Hyper(step int64, lr float64) [3]float64 {
	return [3]float64{lr, correction(o.beta1, step), correction(o.beta2, step)}
}

// correction is 1-β^step, the share of the true mean that a moment which started at zero has reached. It divides the moment, and so
// must not be asked for a step below 1.
func correction(beta float64, step int64) float64 {
	if step < 1 {
		panic(fmt.Sprintf("optim: step %d, steps count from 1", step))
	}
	return 1 - math.Pow(beta, float64(step))
}
