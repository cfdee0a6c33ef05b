package kernels

import (
	"fmt"
	"math"
	"slices"
)

// Packing is how the rows of a weight matrix are stored in less than float32. A product with few rows takes as long as its weights take to be
// read, so that it is faster in proportion. Rows are packed into words of 32 bits, and are a multiple of [PackRun] elements long.
type Packing uint8

// Packings.
const (
	// PackBF16 is bfloat16, rounded to the nearest and to even: element p of a row is half p%2 of word p/2, the low half first.
	PackBF16 Packing = iota
	// PackInt8 is 8 bits with a scale for every run of [PackRun] elements of a row: element p is byte p%4 of word p/4, the lowest first, and
	// stands for that integer times the scale of run p/PackRun. Scales are bfloat16 in words of their own: that of run r is half r%2 of word r/2.
	PackInt8
)

// PackRun is the number of weights of a row that share a scale.
const PackRun = 32

func (p Packing) String() string { return [...]string{"bf16", "int8"}[p] }

// PackWeights is words[N,K/2] <- w[N,K] with [PackBF16], words[N,K/4], scales[N,ceil(K/64)] <- w[N,K] with [PackInt8]; words and scales are I32.
//
// With PackInt8 a scale is the largest absolute value of the run over 127, in float32, rounded up to bfloat16, and an element is w over the
// scale, in float32, rounded to the nearest and to even: off by half a scale at most. Integer times scale is exact in float32. A run that
// holds a NaN or an infinity has the scale NaN.
type PackWeights struct{ Packing Packing }

// RoundWeights is y[N,K] <- w[N,K]: what the words of [PackWeights] stand for. Out[0] may be the memory of w.
type RoundWeights struct{ Packing Packing }

// PackedMatMul is y[M,N] <- x[M,K], words, scales with [PackInt8], bias[N] with Bias, residual[M,N] with Residual: [MatMul] of x and the
// transpose of what the words stand for. Out[0] must not be the memory of the residual.
type PackedMatMul struct {
	Packing        Packing
	Bias, Residual bool
}

func (PackWeights) Kernel() string  { return "pack_weights" }
func (RoundWeights) Kernel() string { return "round_weights" }
func (PackedMatMul) Kernel() string { return "packed_matmul" }

func (RoundWeights) InPlace() []int { return []int{0} }

// Operands is how many inputs hold a packed matrix.
func (p Packing) Operands() int { return len(p.Packed(0, 0)) }

// Packed are the views of a packed matrix [n,k]: words, and scales with [PackInt8].
func (p Packing) Packed(n, k int) []View {
	if p == PackInt8 {
		return []View{Shaped(I32, n, k/4), Shaped(I32, n, (k+2*PackRun-1)/(2*PackRun))}
	}
	return []View{Shaped(I32, n, k/2)}
}

// matrix wants a matrix of whole runs, and a packing that there is.
func (p Packing) matrix(r *rule) {
	r.want(p <= PackInt8, "no packing %d", p)
	r.rank(0, 2)
	r.floats(0)
	if r.ok() {
		r.want(r.in[0].Dim(1)%PackRun == 0, "rows must be a multiple of %d long", PackRun)
	}
}

func (c PackWeights) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 1, 1)
	c.Packing.matrix(r)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(c.Packing.Packed(in[0].Dim(0), in[0].Dim(1))...)
}

func (c RoundWeights) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 1, 1)
	c.Packing.matrix(r)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(in[0].DType, in[0].Shape...))
}

// Dims returns M, N and K of the product.
func (c PackedMatMul) Dims(in []View) (m, n, k int) { return in[0].Dim(0), in[1].Dim(0), in[0].Dim(1) }

// Addends are the bias and the residual, without memory where the call has none.
func (c PackedMatMul) Addends(in []View) (bias, residual View) {
	i := 1 + c.Packing.Operands()
	if c.Bias {
		bias, i = in[i], i+1
	}
	if c.Residual {
		residual = in[i]
	}
	return bias, residual
}

func (c PackedMatMul) Infer(in []View) (out, aux []View, err error) {
	if c.Packing > PackInt8 {
		return nil, nil, fmt.Errorf("%s: no packing %d", c.Kernel(), c.Packing)
	}
	inputs, floats := 1+c.Packing.Operands(), []int{0}
	for _, more := range []bool{c.Bias, c.Residual} {
		if more {
			floats = append(floats, inputs)
			inputs++
		}
	}
	r := check(c, in, inputs, inputs)
	d := r.floats(floats...)
	c.Packing.matrix(r)
	if !r.ok() {
		return nil, nil, r.err
	}
	r.rank(1, 2)
	if !r.ok() {
		return nil, nil, r.err
	}
	m, n, k := c.Dims(in)
	for i, want := range c.Packing.Packed(n, k) {
		r.want(alike(in[1+i], want), "input %d must be %v", 1+i, want)
	}
	bias, residual := c.Addends(in)
	r.want(!c.Bias || slices.Equal(bias.Shape, []int{n}), "the bias must have shape [%d]", n)
	r.want(!c.Residual || slices.Equal(residual.Shape, []int{m, n}), "the residual must have shape [%d %d]", m, n)
	return r.done(Shaped(d, m, n))
}

// FLOPs counts those of the product.
func (c PackedMatMul) FLOPs(a Args) int64 {
	m, n, k := c.Dims(a.In)
	return 2 * int64(m) * int64(n) * int64(k)
}

// RunScale is the scale of a run of weights with [PackInt8], as bfloat16: 0 where all are 0, NaN where one is not finite.
func RunScale(run []float32) uint16 {
	var top float32
	for _, w := range run {
		if w-w != 0 {
			return 0x7fc0
		}
		top = max(top, w, -w)
	}
	return uint16((math.Float32bits(top/127) + 0xffff) >> 16)
}

// RunInteger is the integer that stands for a weight of a run with a scale: 0 where that is 0 or NaN.
func RunInteger(w float32, scale uint16) int8 {
	s := FromBF16(scale)
	if !(s > 0) {
		return 0
	}
	return int8(math.RoundToEven(float64(w / s)))
}
