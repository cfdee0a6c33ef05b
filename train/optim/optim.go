// Package optim is the registry of optimizers: which state slabs each keeps, which kernel call steps it, and which of the call's numbers
// change from step to step. The arithmetic itself is the kernel's.
package optim

import (
	"fmt"
	"slices"
	"strings"

	"prenorm/kernels"
)

// Optimizer describes one optimizer. The call of [Optimizer.Update] updates in place and is bound with
//
//	Out <- In:  parameter, state slabs in State's order  <-  parameter, state slabs in State's order, gradient, hyper[4]
//
// all but hyper of one shape. State slabs start at zero.
type Optimizer interface {
	// Kind is the registered name.
	Kind() string
	// State names the state slabs, each as large as the parameters, in the order of the call.
	State() []string
	// Update is the call that steps parameters with this decoupled weight decay (multiplied by the learning rate inside).
	Update(weightDecay float64) kernels.Call
	// Hyper returns the first three elements of the call's hyper view; the fourth is the clip factor. step is the number of the
	// update, from 1; lr is the learning rate of this update.
	Hyper(step int64, lr float64) [3]float64
}

// Config holds the numbers of all optimizers. Each reads the ones that it documents.
type Config struct {
	Betas    []float64 // decay rates of the moments' averages, each in [0, 1)
	Eps      float64   // added to the denominator, above 0
	Momentum float64   // in [0, 1)
}

var kinds = map[string]func(Config) (Optimizer, error){}

// register makes a kind available to [New]. Members of the registry call it while the package is initialised.
func register(kind string, open func(Config) (Optimizer, error)) struct{} {
	kinds[kind] = open
	return struct{}{}
}

// Kinds lists the registered kinds in alphabetical order.
func Kinds() []string {
	names := make([]string, 0, len(kinds))
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// New returns the optimizer of a kind. It refuses an unknown kind and numbers out of range.
func New(kind string, c Config) (Optimizer, error) {
	open, known := kinds[kind]
	if !known {
		return nil, fmt.Errorf("optimizer kind %q is unknown (have %s)", kind, strings.Join(Kinds(), ", "))
	}
	o, err := open(c)
	if err != nil {
		return nil, fmt.Errorf("optimizer %s: %w", kind, err)
	}
	return o, nil
}

// checkRate refuses a number outside [0, 1), NaN included.
func checkRate(name string, x float64) error {
	if x >= 0 && x < 1 {
		return nil
	}
	return fmt.Errorf("%s is %v, must be at least 0 and below 1", name, x)
}
