package kerneltest

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"prenorm/kernels"
	"prenorm/kernels/ref"
)

// tensor is the content of a view. ints is nil for floating-point content, which is kept as float64 and holds only values of the
// element type under test.
type tensor struct {
	shape  []int
	floats []float64
	ints   []int32
}

// view is the tensor as a view of a type, int32 where it holds integers, without memory.
func (x tensor) view(dtype kernels.DType) kernels.View {
	if x.ints != nil {
		dtype = kernels.I32
	}
	return kernels.Shaped(dtype, x.shape...)
}

// testCase is one call on given inputs.
type testCase struct {
	name string
	call kernels.Call
	in   []tensor
	// initial is what output 0 holds before the launch, for a call that adds to it.
	initial *tensor
	// saved are the statistics of the forward call; the case runs with them and without.
	saved []tensor
	// alias[i] is the input whose memory output i is, for a call that always updates in place; nil = outputs have their own.
	alias []int
	// terms is the length of the longest sum, see harness.tolerance.
	terms int
	// rounding adds to the family's: the size of the exponents that the case raises e to.
	rounding float64
	// magnitude[o] is the size of the terms that output o is a sum of: where they cancel, the result is smaller than its error.
	magnitude []float64
	// infinite: the inputs hold an infinity, so a value that is NaN for the reference may be infinite, and the other way round.
	infinite bool
	// fails are words that the error of the launch must hold; nil = it must succeed.
	fails []string
}

// family is all cases of one kernel.
type family struct {
	cases func(g *generator) []testCase
	// rounding is the kernel's error, in units of the element type's epsilon, beside that of its longest sum. Each family says why.
	rounding float64
	// narrow is the error, in units of half of BF16's epsilon and relative to the largest result or to the terms that it is a sum of, of
	// what a kernel with BF16 views rounds to BF16 inside. Results that are stored as BF16 are granted their own rounding beside it.
	narrow float64
	// exact: the result has one right value.
	exact bool
	// twin returns another call on inputs of the case whose output 0 must have the bits of output `of` of the case.
	twin func(c testCase) (twin testCase, of int)
}

// families holds the cases by kernel name. The init function of each file of cases enters its own.
var families = map[string]family{}

func register(c kernels.Call, f family) {
	if _, taken := families[c.Kernel()]; taken {
		panic("kerneltest: cases registered twice: " + c.Kernel())
	}
	families[c.Kernel()] = f
}

// generator makes inputs of one element type, the same at every run.
type generator struct {
	*rand.Rand
	dtype kernels.DType
}

func newGenerator(name string, dtype kernels.DType) *generator {
	h := fnv.New64a()
	h.Write([]byte(name))
	return &generator{rand.New(rand.NewPCG(h.Sum64(), uint64(dtype))), dtype}
}

// round is the value of the element type under test that is nearest to x.
func (g *generator) round(x float64) float64 {
	if g.dtype == kernels.F32 {
		return float64(float32(x))
	}
	return x
}

// floats makes a tensor of given values.
func (g *generator) floats(shape []int, value func(i int) float64) tensor {
	x := tensor{shape: shape, floats: make([]float64, kernels.Shaped(g.dtype, shape...).Len())}
	for i := range x.floats {
		x.floats[i] = g.round(value(i))
	}
	return x
}

// normal makes a tensor of normally distributed values.
func (g *generator) normal(shape ...int) tensor { return g.scaled(1, shape...) }

// scaled makes a tensor of normally distributed values of a standard deviation.
func (g *generator) scaled(deviation float64, shape ...int) tensor {
	return g.floats(shape, func(int) float64 { return deviation * g.NormFloat64() })
}

// list makes a tensor of one dimension.
func (g *generator) list(values ...float64) tensor {
	return g.floats([]int{len(values)}, func(i int) float64 { return values[i] })
}

// scalar makes a tensor of no dimension.
func (g *generator) scalar(value float64) tensor {
	return g.floats(nil, func(int) float64 { return value })
}

// below makes n integers of 0 … limit-1.
func (g *generator) below(n, limit int) tensor {
	x := tensor{shape: []int{n}, ints: make([]int32, n)}
	for i := range x.ints {
		x.ints[i] = g.Int32N(int32(limit))
	}
	return x
}

func integers(values ...int32) tensor { return tensor{shape: []int{len(values)}, ints: values} }

// with returns a copy of x in which some elements have another value.
func (x tensor) with(value float64, at ...int) tensor {
	x.floats = append([]float64(nil), x.floats...)
	for _, i := range at {
		x.floats[i] = value
	}
	return x
}

// largest is the largest absolute value of x.
func (x tensor) largest() float64 {
	m := 0.0
	for _, v := range x.floats {
		m = max(m, math.Abs(v))
	}
	return m
}

// reference runs a call in float64 on the reference backend. Its results are not rounded.
func reference(c testCase) (out, aux []tensor, err error) {
	be := ref.New()
	a := kernels.Args{}
	for _, x := range c.in {
		a.In = append(a.In, hostView(x, kernels.F64))
	}
	outs, auxs, err := c.call.Infer(a.In)
	if err != nil {
		return nil, nil, err
	}
	fresh := func(v kernels.View) kernels.View {
		if v.DType == kernels.I32 {
			return kernels.HostView(make([]int32, v.Len()), v.Shape...)
		}
		return kernels.HostView(make([]float64, v.Len()), v.Shape...)
	}
	for i, v := range outs {
		a.Out = append(a.Out, fresh(v))
		if i == 0 && c.initial != nil {
			copy(a.Out[0].F64(), c.initial.floats)
		}
	}
	for _, v := range auxs {
		a.Aux = append(a.Aux, fresh(v))
	}
	n, err := be.Workspace(c.call, a)
	if err != nil {
		return nil, nil, err
	}
	a.Work = kernels.HostView(make([]float64, n/8), n/8)
	launch, err := be.Bind(c.call, a)
	if err != nil {
		return nil, nil, err
	}
	if err := launch(); err != nil {
		return nil, nil, err
	}
	return contents(a.Out), contents(a.Aux), nil
}

// hostView copies a tensor into Go memory.
func hostView(x tensor, dtype kernels.DType) kernels.View {
	if x.ints != nil {
		return kernels.HostView(append([]int32{}, x.ints...), x.shape...)
	}
	if dtype == kernels.F64 {
		return kernels.HostView(append([]float64{}, x.floats...), x.shape...)
	}
	narrow := make([]float32, len(x.floats))
	for i, v := range x.floats {
		narrow[i] = float32(v)
	}
	return kernels.HostView(narrow, x.shape...)
}

// contents reads views of host memory.
func contents(views []kernels.View) []tensor {
	var all []tensor
	for _, v := range views {
		x := tensor{shape: v.Shape}
		switch v.DType {
		case kernels.I32:
			x.ints = append([]int32{}, v.I32()...)
		case kernels.F64:
			x.floats = append([]float64{}, v.F64()...)
		case kernels.F32:
			x.floats = make([]float64, v.Len())
			for i, e := range v.F32() {
				x.floats[i] = float64(e)
			}
		case kernels.BF16:
			x.floats = make([]float64, v.Len())
			for i, e := range v.BF16() {
				x.floats[i] = float64(kernels.FromBF16(e))
			}
		}
		all = append(all, x)
	}
	return all
}

// forward runs a call on the reference and rounds what it gives, to be inputs of its backward call.
func (g *generator) forward(c kernels.Call, in ...tensor) (out, aux []tensor) {
	out, aux, err := reference(testCase{call: c, in: in})
	if err != nil {
		panic(fmt.Sprintf("kerneltest: %v", err)) // the suite's own inputs are wrong
	}
	for _, x := range append(append([]tensor{}, out...), aux...) {
		for i := range x.floats {
			x.floats[i] = g.round(x.floats[i])
		}
	}
	return out, aux
}
