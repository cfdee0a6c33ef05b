package optim

import "prenorm/kernels"

var _ = register("sgd", newSGD)

// sgd is stochastic gradient descent with momentum (Polyak, 1964; in the form of Sutskever et al., ICML 2013, with the learning rate
// outside the average) and decoupled weight decay λ.
//
//	m = μ m + g;  p = p (1 - lr λ) - lr m
//
// Config: Momentum = μ, 0 for none. State: momentum, so named that no other optimizer's average is taken for it. Hyper: {lr, 0, 0}.
type sgd struct{ momentum float64 }

func newSGD(c Config) (Optimizer, error) {
	if err := checkRate("momentum", c.Momentum); err != nil {
		return nil, err
	}
	return sgd{c.Momentum}, nil
}

func (sgd) Kind() string    { return "sgd" }
func (sgd) State() []string { return []string{"momentum"} }

func (o sgd) Update(weightDecay float64) kernels.Call {
	return kernels.SGD{Momentum: o.momentum, WeightDecay: weightDecay}
}

func (sgd) Hyper(_ int64, lr float64) [3]float64 { return [3]float64{lr, 0, 0} }
