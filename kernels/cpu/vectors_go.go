package cpu

import (
	"math"

	"prenorm/kernels"
)

// portableVectors are the functions in plain Go.
var portableVectors = vectors{
	curves: map[string]curve{"gelu_tanh": curveOf(geluAt), "silu": curveOf(siluAt)},
	fill:   fillGo, move: moveGo, add: addGo, addTo: addToGo, addRow: addGo, narrow: narrowGo, widen: widenGo, multiply: multiplyGo, rotate: rotateGo, allFinite: allFiniteGo,
	maximum: maximumGo, expSum: expSumGo, slopes: slopesGo,
	sums: sumsGo, addSums: addSumsGo, rmsRow: rmsRowGo, rmsAddRow: rmsAddRowGo, rmsGradRow: rmsGradRowGo, rmsGradEnd: rmsGradEndGo, rmsGradAdd: rmsGradAddGo,
	layerRow: layerRowGo, layerAddRow: layerAddRowGo, layerGradRow: layerGradRowGo, layerGradEnd: layerGradEndGo, layerGradAdd: layerGradAddGo,
	dropout: dropoutGo, dyt: dytGo, dytGrad: dytGradGo,
	adamw: adamwGo,
}

func fillGo(y []float32, value float32) {
	for i := range y {
		y[i] = value
	}
}

func moveGo(y, x []float32) { copy(y, x) }

func addGo(z, x, y []float32) {
	x, y = x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = x[i] + y[i]
	}
}

func addToGo(sum, x []float32) { addGo(sum, sum, x) }

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
	for at := 0; at < len(y); at += 2 * half {
		x0, x1, y0, y1 := x[at:][:half], x[at+half:][:half], y[at:][:half], y[at+half:][:half]
		for j, c := range cosine {
			s := sign * sine[j]
			a, b := x0[j], x1[j]
			y0[j] = a*c - b*s
			y1[j] = b*c + a*s
		}
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

// moments2 are sums of elements and of their squares, those of even places apart from those of odd ones.
type moments2 struct{ s0, s1, q0, q1 float64 }

// take adds elements that begin at an even place.
func (m *moments2) take(x []float32) {
	for len(x) >= 2 {
		a, b := float64(x[0]), float64(x[1])
		m.s0 += a
		m.s1 += b
		m.q0 += a * a
		m.q1 += b * b
		x = x[2:]
	}
	for _, v := range x {
		m.s0 += float64(v)
		m.q0 += float64(v) * float64(v)
	}
}

func sumsGo(x []float32) (sum, squares float64) {
	var m moments2
	m.take(x)
	return m.s0 + m.s1, m.q0 + m.q1
}

func rmsRowGo(y, x, gain []float32, r, unit float32) {
	x, gain = x[:len(y)], gain[:len(y)]
	for i := range y {
		y[i] = x[i] * r * (unit + gain[i])
	}
}

func addSumsGo(x, past []float32) (sum, squares float64) {
	var m moments2
	var z [256]float32
	for len(x) > 0 {
		n := min(len(x), len(z))
		addGo(z[:n], x, past)
		m.take(z[:n])
		x, past = x[n:], past[n:]
	}
	return m.s0 + m.s1, m.q0 + m.q1
}

func rmsAddRowGo(y, z, x, past, gain []float32, r, unit float32) {
	addGo(z, x, past)
	rmsRowGo(y, z, gain, r, unit)
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

func rmsGradEndGo(dx, h, x []float32, r, m float32) {
	h, x = h[:len(dx)], x[:len(dx)]
	for i := range dx {
		dx[i] = r * (h[i] - x[i]*m)
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

func layerAddRowGo(y, z, x, past, gain, bias []float32, mean, r, unit float32) {
	addGo(z, x, past)
	layerRowGo(y, z, gain, bias, mean, r, unit)
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

func layerGradEndGo(dx, v, x []float32, mean, r, m, mh float32) {
	v, x = v[:len(dx)], x[:len(dx)]
	for i := range dx {
		h := (x[i] - mean) * r
		dx[i] = r * (v[i] - m - h*mh)
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
