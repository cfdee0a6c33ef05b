package report

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// ticks places marks at round numbers.
type ticks struct{ log bool }

// Ticks implements [plot.Ticker].
func (t ticks) Ticks(low, high float64) []plot.Tick {
	if t.log {
		return logTicks(low, high)
	}
	return linearTicks(low, high)
}

// mostTicks is about how many marks an axis has.
const mostTicks = 7

// linearTicks marks multiples of the smallest of 1, 2, 5, 10, … that are not too many.
func linearTicks(low, high float64) []plot.Tick {
	if !(high > low) || math.IsInf(high-low, 0) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/mostTicks)))
	for _, m := range []float64{1, 2, 5, 10} {
		if (high-low)/(step*m) <= mostTicks+1e-9 {
			step *= m
			break
		}
	}
	var marks []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high+1e-9*step; i++ {
		marks = append(marks, plot.Tick{Value: i * step, Label: label(i * step)})
	}
	return marks
}

// logTicks marks powers of ten, and 2 and 5 times them where few powers fit.
func logTicks(low, high float64) []plot.Tick {
	if !(low > 0 && high > low) {
		return nil
	}
	between := []float64{1}
	switch decades := math.Log10(high / low); {
	case decades < 1:
		between = []float64{1, 1.5, 2, 3, 4, 5, 6, 8}
	case decades < 3:
		between = []float64{1, 2, 5}
	}
	var marks []plot.Tick
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for _, m := range between {
			if v := m * math.Pow(10, e); v >= low*0.999 && v <= high*1.001 {
				marks = append(marks, plot.Tick{Value: v, Label: label(v)})
			}
		}
	}
	return marks
}

// chosen are marks at given places.
type chosen []float64

// Ticks implements [plot.Ticker].
func (c chosen) Ticks(_, _ float64) []plot.Tick {
	marks := make([]plot.Tick, len(c))
	for i, v := range c {
		marks[i] = plot.Tick{Value: v, Label: label(v)}
	}
	return marks
}

// label is a short name of a number.
func label(v float64) string {
	if math.Abs(v) < 1e-12 {
		return "0"
	}
	if a := math.Abs(v); a < 1e-3 || a >= 1e5 {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'g', 6, 64)
}
