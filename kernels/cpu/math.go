package cpu

import "math"

const (
	log2e    = math.Log2E
	ln2High  = 0.693359375 // ln 2 in two parts: a multiple of it by a small integer is exact
	ln2Low   = -2.12194440e-4
	roundBit = 3 << 22 // adding and subtracting it rounds a float32 to an integer, which is then in its low bits
	expMax   = 88.72284
	expMin   = -86.9
)

// exp32 is eˣ with a relative error below 1.2e-7: range reduction to |r| <= ln(2)/2 and the minimax polynomial of Cephes' expf (Moshier).
// Results below 1.8e-38 are 0.
func exp32(x float32) float32 {
	if x > expMax {
		return float32(math.Inf(1))
	}
	if x < expMin {
		return 0
	}
	t := x*log2e + roundBit
	n := t - roundBit
	r := x - n*ln2High - n*ln2Low
	p := ((((1.9875691500e-4*r+1.3981999507e-3)*r+8.3334519073e-3)*r+4.1665795894e-2)*r+1.6666665459e-1)*r + 5.0000001201e-1
	p = p*r*r + r + 1
	// 2^n in two steps, because n can be 128.
	half := math.Float32frombits((math.Float32bits(t)<<23 + 126<<23))
	return p * half * 2
}

// sigmoid32 is 1/(1+e⁻ˣ).
func sigmoid32(x float32) float32 { return 1 / (1 + exp32(-x)) }

// tanh32 is tanh x with a relative error below 3e-7: a polynomial near 0 (Cephes' tanhf), where the formula by the exponential cancels.
func tanh32(x float32) float32 {
	a := float32(math.Abs(float64(x)))
	if a < 0.625 {
		z := x * x
		return ((((-5.70498872745e-3*z+2.06390887954e-2)*z-5.37397155531e-2)*z+1.33314422036e-1)*z-3.33332819422e-1)*z*x + x
	}
	return float32(math.Copysign(float64(1-2/(exp32(2*a)+1)), float64(x)))
}

// sumExp is the sum of exp(x - shift).
func sumExp(x []float32, shift float32) float64 {
	var sum float64
	var y [expBlock]float32
	for len(x) > expBlock {
		sum += float64(expSumGo(y[:], x[:expBlock], shift))
		x = x[expBlock:]
	}
	return sum + float64(expSumGo(y[:], x, shift))
}

// softcap sets x = cap tanh(x/cap) element by element. y may be x.
func softcap(y, x []float32, limit float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] = limit * tanh32(v/limit)
	}
}
