// Package schedule is the registry of learning-rate courses. All begin with a linear warm-up from 0 (Goyal et al., arXiv 1706.02677) over
// W updates and differ in what follows until the last update N:
//
//	factor(s) = s/W                 for s <= W
//	factor(s) = course((s-W)/(N-W)) for W < s <= N, course(0) = 1
//
// The learning rate of update s, counted from 1, is the peak rate times factor(s). After N the factor stays at its last value.
package schedule

import (
	"fmt"
	"slices"
	"strings"
)

// Schedule returns the share in [0, 1] of the peak learning rate for update number step, counted from 1. It is a pure function.
type Schedule func(step int64) float64

// Config holds the numbers of all schedules.
type Config struct {
	Warmup int     // W, updates of linear rise from 0
	Steps  int     // N, the number of the last update
	Min    float64 // the factor at the last update, in [0, 1]; unused by constant
	Decay  float64 // wsd: the share of Steps, at the end, in which the factor falls; in (0, 1]
}

// course is a schedule after its warm-up: t runs from 0 at the peak to exactly 1 at the last update.
type course func(t float64) float64

// kind makes a course from a valid configuration, or tells which number does not fit.
type kind func(Config) (course, error)

var kinds = map[string]kind{}

// register makes a kind available to [New]. Members of the registry call it while the package is initialised.
func register(name string, k kind) struct{} {
	kinds[name] = k
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

// New returns the schedule of a kind. It refuses an unknown kind and numbers out of range.
func New(name string, c Config) (Schedule, error) {
	shape, known := kinds[name]
	if !known {
		return nil, fmt.Errorf("schedule kind %q is unknown (have %s)", name, strings.Join(Kinds(), ", "))
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("schedule %s: %w", name, err)
	}
	after, err := shape(c)
	if err != nil {
		return nil, fmt.Errorf("schedule %s: %w", name, err)
	}
	warmup, rest := int64(c.Warmup), int64(c.Steps-c.Warmup)
	return func(step int64) float64 {
		if step <= warmup {
			return float64(max(step, 0)) / float64(max(warmup, 1))
		}
		return after(float64(min(step-warmup, rest)) / float64(rest))
	}, nil
}

func (c Config) check() error {
	switch {
	case c.Steps < 1:
		return fmt.Errorf("steps is %d, must be at least 1", c.Steps)
	case c.Warmup < 0:
		return fmt.Errorf("warmup is %d, must not be negative", c.Warmup)
	case c.Warmup >= c.Steps:
		return fmt.Errorf("warmup of %d leaves none of %d steps at the full rate: set warmup below steps, such as %d", c.Warmup, c.Steps, c.Steps/10)
	case !(c.Min >= 0 && c.Min <= 1):
		return fmt.Errorf("min is %v, must be from 0 to 1: it is a share of the peak rate", c.Min)
	}
	return nil
}

// fall goes from 1 at share = 1 to exactly low at share = 0.
func fall(low, share float64) float64 { return low + (1-low)*share }
