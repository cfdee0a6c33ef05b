package lab

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// Slope is the exponent p of the least-squares fit of y = c x^p: the slope of log y on log x. It is NaN where a value is not positive or where
// there are fewer than two.
func Slope(x, y []float64) float64 {
	if len(x) != len(y) || len(x) < 2 {
		return math.NaN()
	}
	lx, ly := make([]float64, len(x)), make([]float64, len(y))
	for i := range x {
		if !(x[i] > 0 && y[i] > 0) {
			return math.NaN()
		}
		lx[i], ly[i] = math.Log(x[i]), math.Log(y[i])
	}
	_, slope := stat.LinearRegression(lx, ly, nil, false)
	return slope
}

// Line is the least-squares fit of y = a + b x, with the share of the variance of y that it explains.
func Line(x, y []float64) (a, b, r2 float64) {
	a, b = stat.LinearRegression(x, y, nil, false)
	return a, b, stat.RSquared(x, y, nil, a, b)
}

// Spread is the mean of some values with their smallest and largest.
type Spread struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	N    int     `json:"n"`
}

// SpreadOf sums values up. It is all NaN for none.
func SpreadOf(values ...float64) Spread {
	if len(values) == 0 {
		return Spread{math.NaN(), math.NaN(), math.NaN(), 0}
	}
	s := Spread{Low: math.Inf(1), High: math.Inf(-1), N: len(values)}
	for _, v := range values {
		s.Mean += v / float64(len(values))
		s.Low, s.High = min(s.Low, v), max(s.High, v)
	}
	return s
}

// rms is the root of the mean square.
func rms(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return norm(x) / math.Sqrt(float64(len(x)))
}

// norm is the root of the sum of squares.
func norm(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

// cosine is the mean over rows of width columns of the cosine between rows of x and y.
func cosine(x, y []float64, width int) float64 {
	sum, rows := 0.0, len(x)/width
	for r := range rows {
		a, b := x[r*width:(r+1)*width], y[r*width:(r+1)*width]
		sum += dot(a, b) / (norm(a) * norm(b))
	}
	return sum / float64(rows)
}
