package cpu

// vectors are a tier's functions over elements and rows. All slices of a call have the length of the first, except where it says otherwise:
// assembly does not check it. On the vector tiers element i belongs to lane i%16 of a sum, and lanes are added by halves.
type vectors struct {
	curves map[string]curve

	fill      func(y []float32, value float32)                 // y = value
	move      func(y, x []float32)                             // y = x
	add       func(z, x, y []float32)                          // z = x + y; z may be either
	addTo     func(sum, x []float32)                           // sum += x
	addRow    func(y, x, row []float32)                        // y = x + row, the row being in a cache; y may be x
	multiply  func(y, x []float32, factor float32)             // y = factor x; y may be x
	rotate    func(cosine, sine, y, x []float32, sign float32) // both halves of each head of x, each as long as cosine, turned by the angles; y may be x
	allFinite func(x []float32, ld, rows, cols int) bool       // rows of x, ld apart, hold neither NaN nor infinity

	narrow func(y []uint16, x []float32) // y = x as bfloat16, rounded to the nearest and to even
	widen  func(y []float32, x []uint16) // y = x, which is bfloat16

	dropout dropoutFunc

	maximum func(x []float32) float32                        // -Inf of none; a NaN may be passed over
	expSum  func(y, x []float32, shift float32) float32      // y = exp(x - shift), and the sum; y may be x
	slopes  func(s, ds []float32, lse, total, scale float32) // s = exp(s - lse), ds = s (ds - total) scale

	sums       func(x []float32) (sum, squares float64)
	addSums    func(x, past []float32) (sum, squares float64)                  // of x + past
	rmsRow     func(y, x, gain []float32, r, unit float32)                     // y = x r (unit + gain)
	rmsAddRow  func(y, z, x, past, gain []float32, r, unit float32)            // z = x + past, y = z r (unit + gain); z may be x
	rmsGradRow func(dx, dgain, x, gain, dy []float32, r, unit float32) float32 // dx = (unit + gain) dy, dgain += dy x r, and the sum of dx x
	rmsGradEnd func(dx, h, x []float32, r, m float32)                          // dx = r (h - x m); dx may be h
	rmsGradAdd func(dx, h, x, past []float32, r, m float32)                    // dx = r (h - x m) + past; dx may be past
	layerRow   func(y, x, gain, bias []float32, mean, r, unit float32)         // y = h (unit + gain) + bias with h = (x - mean) r
	// z = x + past, y = h (unit + gain) + bias with h = (z - mean) r; z may be x
	layerAddRow func(y, z, x, past, gain, bias []float32, mean, r, unit float32)
	// dx = (unit + gain) dy, dgain += dy h, dbias += dy, and the sums of dx and dx h
	layerGradRow func(dx, dgain, dbias, x, gain, dy []float32, mean, r, unit float32) (sum, sumH float32)
	layerGradEnd func(dx, v, x []float32, mean, r, m, mh float32)       // dx = r (v - m - h mh); dx may be v
	layerGradAdd func(dx, v, x, past []float32, mean, r, m, mh float32) // dx = r (v - m - h mh) + past; dx may be past

	dyt func(y, x, gain, bias []float32, alpha float32) // y = gain tanh(alpha x) + bias
	// with h = tanh(alpha x) and s = dy gain (1 - h²): dx = alpha s, dgain += dy h, dbias += dy, and the sum of s x
	dytGrad func(dx, dgain, dbias, x, gain, dy []float32, alpha float32) float32

	// g *= clip, m = beta1 m + rest1 g, v = beta2 v + rest2 g², p = keep p - step m/(root sqrt(v) + eps)
	adamw func(newP, newM, newV, p, m, v, g []float32, beta1, rest1, beta2, rest2, clip, keep, step, root, eps float32)
}

// expBlock is the number of exponentials that are added in float32 before the sum goes on in float64.
const expBlock = 512

// expShifted sets y = exp(x - shift) and returns the sum. y may be x.
func (v *vectors) expShifted(y, x []float32, shift float32) float64 {
	var sum float64
	for len(x) > expBlock {
		sum += float64(v.expSum(y[:expBlock], x[:expBlock], shift))
		y, x = y[expBlock:], x[expBlock:]
	}
	return sum + float64(v.expSum(y[:len(x)], x, shift))
}
