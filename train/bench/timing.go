package bench

import (
	"fmt"
	"slices"
	"time"

	"prenorm/kernels"
)

// atLeast is how many times a launch is timed however long it takes, and batchTime how long the launches between two marks take together, so
// that the marks themselves do not count.
const (
	atLeast   = 3
	batchTime = 2e-3
	mostBatch = 200
)

// timed is the time of a launch, chosen among those measured in about the given seconds.
func timed(be kernels.Backend, launch kernels.Launch, seconds float64, choose func([]float64) float64) (float64, error) {
	once, err := between(be, launch, 1) // the first one loads things
	if err == nil {
		once, err = between(be, launch, 1)
	}
	if err != nil {
		return 0, err
	}
	batch := int(min(max(batchTime/max(once, 1e-9), 1), mostBatch))
	var times []float64
	for began := time.Now(); len(times) < atLeast || time.Since(began).Seconds() < seconds; {
		t, err := between(be, launch, batch)
		if err != nil {
			return 0, err
		}
		times = append(times, t)
	}
	return choose(times), nil
}

// between is the time of one of n launches between two marks.
func between(be kernels.Backend, launch kernels.Launch, n int) (float64, error) {
	m := kernels.MarkerOf(be)
	m.Mark()
	for range n {
		if err := launch(); err != nil {
			return 0, err
		}
	}
	m.Mark()
	at, err := m.Marks()
	if err == nil {
		err = be.Sync() // what the launches found wrong
	}
	if err != nil {
		return 0, err
	}
	if len(at) != 2 {
		return 0, fmt.Errorf("bench: %d marks, want 2", len(at))
	}
	return at[1] / float64(n), nil
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// rate is so much a second in units of 10^9.
func rate(amount int64, seconds float64) float64 { return float64(amount) / max(seconds, 1e-12) / 1e9 }
