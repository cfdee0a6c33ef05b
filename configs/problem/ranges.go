package problem

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Whole adds a problem when value lies outside low … high, both included.
func (l *List) Whole(key string, value, low, high int) {
	if value < low || value > high {
		l.Addf(key, "%d is out of range (%d to %d)", value, low, high)
	}
}

// Interval is a range of real numbers; its ends belong to it unless they are open.
type Interval struct {
	Low, High         float64
	OpenLow, OpenHigh bool
}

// Contains reports whether x lies in the interval; NaN lies in none.
func (i Interval) Contains(x float64) bool {
	above := x > i.Low || x == i.Low && !i.OpenLow
	below := x < i.High || x == i.High && !i.OpenHigh
	return above && below
}

// String says the interval in words: "above 0, up to 1".
func (i Interval) String() string {
	low, high := Number(i.Low), Number(i.High)
	switch {
	case i.OpenLow && i.OpenHigh:
		return fmt.Sprintf("above %s, below %s", low, high)
	case i.OpenLow:
		return fmt.Sprintf("above %s, up to %s", low, high)
	case i.OpenHigh:
		return fmt.Sprintf("from %s to below %s", low, high)
	}
	return fmt.Sprintf("from %s to %s", low, high)
}

// Within adds a problem when value lies outside the interval.
func (l *List) Within(key string, value float64, allowed Interval) {
	if !allowed.Contains(value) {
		l.Addf(key, "%s is out of range (%s)", Number(value), allowed)
	}
}

// Number writes x in its shortest exact form, as a run file shows it: 0.1, 10000, 1e-5.
func Number(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	s := strconv.FormatFloat(x, 'g', -1, 64)
	mantissa, exponent, found := strings.Cut(s, "e")
	if !found {
		return s
	}
	negative := strings.HasPrefix(exponent, "-")
	exponent = strings.TrimLeft(exponent, "+-0")
	if negative {
		exponent = "-" + exponent
	}
	return mantissa + "e" + exponent
}
