package cpu

import (
	"math"

	"prenorm/kernels"
)

// vectors are a tier's functions over elements and rows. All slices of a call have the length of the first, except where it says otherwise:
// assembly does not check it. On the vector tiers element i belongs to lane i%16 of a sum, and lanes are added by halves.
type vectors struct {
	curves map[string]curve

	add       func(z, x, y []float32)                          // z = x + y; z may be either
	multiply  func(y, x []float32, factor float32)             // y = factor x; y may be x
	rotate    func(cosine, sine, y, x []float32, sign float32) // both halves of x, each as long as cosine, turned by the angles; y may be x
	allFinite func(x []float32, ld, rows, cols int) bool       // rows of x, ld apart, hold neither NaN nor infinity

	narrow func(y []uint16, x []float32) // y = x as bfloat16, rounded to the nearest and to even
	widen  func(y []float32, x []uint16) // y = x, which is bfloat16

	maximum func(x []float32) float32                        // -Inf of none; a NaN may be passed over
	expSum  func(y, x []float32, shift float32) float32      // y = exp(x - shift), and the sum; y may be x
	slopes  func(s, ds []float32, lse, total, scale float32) // s = exp(s - lse), ds = s (ds - total) scale

	sums       func(x []float32) (sum, squares float64)
	rmsRow     func(y, x, gain []float32, r, unit float32)                     // y = x r (unit + gain)
	rmsGradRow func(dx, dgain, x, gain, dy []float32, r, unit float32) float32 // dx = (unit + gain) dy, dgain += dy x r, and the sum of dx x
	rmsGradEnd func(dx, x []float32, r, m float32)                             // dx = r (dx - x m)
	rmsGradAdd func(dx, h, x, past []float32, r, m float32)                    // dx = r (h - x m) + past; dx may be past
	layerRow   func(y, x, gain, bias []float32, mean, r, unit float32)         // y = h (unit + gain) + bias with h = (x - mean) r
	// dx = (unit + gain) dy, dgain += dy h, dbias += dy, and the sums of dx and dx h
	layerGradRow func(dx, dgain, dbias, x, gain, dy []float32, mean, r, unit float32) (sum, sumH float32)
	layerGradEnd func(dx, x []float32, mean, r, m, mh float32)          // dx = r (dx - m - h mh)
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

// addTo is sum += x.
func (v *vectors) addTo(sum, x []float32) { v.add(sum, sum, x[:len(sum)]) }

// portableVectors are the functions in plain Go.
var portableVectors = vectors{
	curves: map[string]curve{"gelu_tanh": curveOf(geluAt), "silu": curveOf(siluAt)},
	add:    addGo, narrow: narrowGo, widen: widenGo, multiply: multiplyGo, rotate: rotateGo, allFinite: allFiniteGo,
	maximum: maximumGo, expSum: expSumGo, slopes: slopesGo,
	sums: sumsGo, rmsRow: rmsRowGo, rmsGradRow: rmsGradRowGo, rmsGradEnd: rmsGradEndGo, rmsGradAdd: rmsGradAddGo,
	layerRow: layerRowGo, layerGradRow: layerGradRowGo, layerGradEnd: layerGradEndGo, layerGradAdd: layerGradAddGo,
	dyt: dytGo, dytGrad: dytGradGo,
	adamw: adamwGo,
}

func addGo(z, x, y []float32) {
	x, y = x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = x[i] + y[i]
	}
}

func narrowGo(y []uint16, x []float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] = kernels.ToBF16(x[i])
	}
}

func widenGo(y []float32, x []uint16) {
	x = x[:len(y)]
	for i := range y {
		y[i] = kernels.FromBF16(x[i])
	}
}

func multiplyGo(y, x []float32, factor float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] = factor * x[i]
	}
}

func rotateGo(cosine, sine, y, x []float32, sign float32) {
	half := len(cosine)
	sine = sine[:half]
	x0, x1, y0, y1 := x[:half], x[half:][:half], y[:half], y[half:][:half]
	for j, c := range cosine {
		s := sign * sine[j]
		a, b := x0[j], x1[j]
		y0[j] = a*c - b*s
		y1[j] = b*c + a*s
	}
}

func allFiniteGo(x []float32, ld, rows, cols int) bool {
	const exponent = 0x7f800000
	var carry uint32 // its top bit is set by an exponent of ones
	for i := range rows {
		for _, v := range x[i*ld:][:cols] {
			carry |= math.Float32bits(v)&exponent + 1<<23
		}
	}
	return carry>>31 == 0
}

// maximumGo is NaN where there is one.
func maximumGo(x []float32) float32 {
	m := float32(math.Inf(-1))
	for _, v := range x {
		if v > m || v != v {
			m = v
		}
	}
	return m
}

func expSumGo(y, x []float32, shift float32) float32 {
	var even, odd float32
	y = y[:len(x)]
	for j, v := range x {
		e := exp32(v - shift)
		y[j] = e
		even, odd = odd, even+e
	}
	return even + odd
}

func slopesGo(s, ds []float32, lse, total, scale float32) {
	ds = ds[:len(s)]
	for j, score := range s {
		p := exp32(score - lse)
		s[j] = p
		ds[j] = p * (ds[j] - total) * scale
	}
}

func sumsGo(x []float32) (sum, squares float64) {
	var s0, s1, q0, q1 float64
	for len(x) >= 2 {
		a, b := float64(x[0]), float64(x[1])
		s0 += a
		s1 += b
		q0 += a * a
		q1 += b * b
		x = x[2:]
	}
	for _, v := range x {
		s0 += float64(v)
		q0 += float64(v) * float64(v)
	}
	return s0 + s1, q0 + q1
}

func rmsRowGo(y, x, gain []float32, r, unit float32) {
	x, gain = x[:len(y)], gain[:len(y)]
	for i := range y {
		y[i] = x[i] * r * (unit + gain[i])
	}
}

func rmsGradRowGo(dx, dgain, x, gain, dy []float32, r, unit float32) float32 {
	d := len(dx)
	dgain, x, gain, dy = dgain[:d], x[:d], gain[:d], dy[:d]
	var even, odd float64
	for i, g := range gain {
		h := (unit + g) * dy[i]
		dx[i] = h
		dgain[i] += dy[i] * (x[i] * r)
		even, odd = odd, even+float64(h)*float64(x[i])
	}
	return float32(even + odd)
}

func rmsGradEndGo(dx, x []float32, r, m float32) {
	x = x[:len(dx)]
	for i := range dx {
		dx[i] = r * (dx[i] - x[i]*m)
	}
}

func rmsGradAddGo(dx, h, x, past []float32, r, m float32) {
	h, x, past = h[:len(dx)], x[:len(dx)], past[:len(dx)]
	for i := range dx {
		dx[i] = float32(r*(h[i]-x[i]*m)) + past[i] // two roundings, as in two calls
	}
}

func layerRowGo(y, x, gain, bias []float32, mean, r, unit float32) {
	x, gain, bias = x[:len(y)], gain[:len(y)], bias[:len(y)]
	for i := range y {
		y[i] = (x[i]-mean)*r*(unit+gain[i]) + bias[i]
	}
}

func layerGradRowGo(dx, dgain, dbias, x, gain, dy []float32, mean, r, unit float32) (sum, sumH float32) {
	d := len(dx)
	dgain, dbias, x, gain, dy = dgain[:d], dbias[:d], x[:d], gain[:d], dy[:d]
	var s, h64 float64
	for i, g := range gain {
		h := (x[i] - mean) * r
		v := (unit + g) * dy[i]
		dx[i] = v
		dgain[i] += dy[i] * h
		dbias[i] += dy[i]
		s += float64(v)
		h64 += float64(v) * float64(h)
	}
	return float32(s), float32(h64)
}

func layerGradEndGo(dx, x []float32, mean, r, m, mh float32) {
	x = x[:len(dx)]
	for i := range dx {
		h := (x[i] - mean) * r
		dx[i] = r * (dx[i] - m - h*mh)
	}
}

func layerGradAddGo(dx, v, x, past []float32, mean, r, m, mh float32) {
	v, x, past = v[:len(dx)], x[:len(dx)], past[:len(dx)]
	for i := range dx {
		h := (x[i] - mean) * r
		dx[i] = float32(r*(v[i]-m-h*mh)) + past[i]
	}
}

func adamwGo(newP, newM, newV, p, m, v, g []float32, beta1, rest1, beta2, rest2, clip, keep, step, root, eps float32) {
	n := len(newP)
	newM, newV, p, m, v, g = newM[:n], newV[:n], p[:n], m[:n], v[:n], g[:n]
	for i, gi := range g {
		gi *= clip
		mi := beta1*m[i] + rest1*gi
		vi := beta2*v[i] + rest2*gi*gi
		newM[i], newV[i] = mi, vi
		newP[i] = p[i]*keep - step*mi/(float32(math.Sqrt(float64(vi)))*root+eps)
	}
}
