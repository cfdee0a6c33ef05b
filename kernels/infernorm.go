package kernels

import (
	"fmt"
	"slices"
)

// Shape rules of norms, DyT, gates and what scales gradients.

// norm is the rule of norms over runs of D elements: x, then parameters of [D], then for a gradient dy.
func norm(c Call, in []View, params int, grad bool) (r *rule, d DType, runs int) {
	n := 1 + params
	if grad {
		n++
	}
	r = check(c, in, n, n)
	r.rank(0, 2)
	idx := []int{0}
	for i := 1; i <= params; i++ {
		r.rank(i, 1)
		idx = append(idx, i)
	}
	if grad {
		idx = append(idx, n-1)
		r.alike(0, n-1)
	}
	d = r.floats(idx...)
	if !r.ok() {
		return r, d, 0
	}
	size := in[1].Dim(0)
	if params == 2 {
		r.alike(1, 2)
	}
	r.want(size > 0 && in[0].Dim(1)%size == 0, "the gain's size must divide the width")
	if r.ok() {
		runs = in[0].Len() / size
	}
	return r, d, runs
}

func (c RMSNorm) Infer(in []View) (out, aux []View, err error) {
	r, d, runs := norm(c, in, 1, false)
	if !r.ok() {
		return nil, nil, r.err
	}
	return []View{Shaped(d, in[0].Shape...)}, []View{Shaped(d, runs)}, nil
}

func (c RMSNormGrad) Infer(in []View) (out, aux []View, err error) {
	r, d, _ := norm(c, in, 1, true)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(d, in[0].Shape...), Shaped(d, in[1].Shape...))
}

func (c LayerNorm) Infer(in []View) (out, aux []View, err error) {
	r, d, runs := norm(c, in, 2, false)
	if !r.ok() {
		return nil, nil, r.err
	}
	return []View{Shaped(d, in[0].Shape...)}, []View{Shaped(d, runs), Shaped(d, runs)}, nil
}

func (c LayerNormGrad) Infer(in []View) (out, aux []View, err error) {
	r, d, _ := norm(c, in, 2, true)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(d, in[0].Shape...), Shaped(d, in[1].Shape...), Shaped(d, in[2].Shape...))
}

func (c BatchNorm) Infer(in []View) (out, aux []View, err error) {
	r, d, _ := norm(c, in, 2, false)
	if !r.ok() {
		return nil, nil, r.err
	}
	return []View{Shaped(d, in[0].Shape...)}, []View{Shaped(d, in[1].Shape...), Shaped(d, in[1].Shape...)}, nil
}

func (c BatchNormGrad) Infer(in []View) (out, aux []View, err error) {
	r, d, _ := norm(c, in, 2, true)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(d, in[0].Shape...), Shaped(d, in[1].Shape...), Shaped(d, in[2].Shape...))
}

// running is the rule of running statistics at input i, of runs of d elements of x at input x.
func (r *rule) running(i, x int) {
	r.rank(i, 2)
	r.rank(x, 2)
	r.floats(i, x)
	if r.ok() {
		d := r.in[i].Dim(1)
		r.want(r.in[i].Dim(0) == 2, "running statistics must have two rows")
		r.want(d > 0 && r.in[x].Dim(1)%d == 0, "the size of running statistics must divide the width")
	}
}

func (c BatchNormUpdate) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 2, 2)
	r.running(0, 1)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(in[0].DType, in[0].Shape...))
}

func (c BatchNormInference) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 4, 4)
	r.running(3, 0)
	if !r.ok() {
		return nil, nil, r.err
	}
	n, d, _ := norm(c, in[:3], 2, false)
	if !n.ok() {
		return nil, nil, n.err
	}
	r.want(in[3].Dim(1) == in[1].Dim(0), "running statistics and gain differ in size")
	return r.done(Shaped(d, in[0].Shape...))
}

// columns is the rule of calls on x[N,C] with parameters whose size divides C, the last of them input last, and for a gradient dy after
// it. It returns the shape of the parameters.
func (r *rule) columns(last int, grad bool) []int {
	idx := []int{0}
	r.rank(0, 2)
	for i := 1; i <= last; i++ {
		r.rank(i, 1)
		idx = append(idx, i)
	}
	if grad {
		idx = append(idx, last+1)
		r.alike(0, last+1)
	}
	r.floats(idx...)
	if !r.ok() {
		return nil
	}
	size := r.in[last].Dim(0)
	r.want(size > 0 && r.in[0].Dim(1)%size == 0, "the size of input %d must divide the width", last)
	return r.in[last].Shape
}

func (c DyT) rule(call Call, in []View, grad bool) (*rule, []int) {
	n := 4
	if grad {
		n++
	}
	r := check(call, in, n, n)
	shape := r.columns(3, grad)
	if r.ok() {
		r.alike(2, 3)
		r.want(in[1].Dim(0) == 1, "alpha must have one element")
	}
	return r, shape
}

func (c DyT) Infer(in []View) (out, aux []View, err error) {
	r, _ := c.rule(c, in, false)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(in[0].DType, in[0].Shape...))
}

func (c DyTGrad) Infer(in []View) (out, aux []View, err error) {
	r, shape := DyT(c).rule(c, in, true)
	if !r.ok() {
		return nil, nil, r.err
	}
	d := in[0].DType
	return r.done(Shaped(d, in[0].Shape...), Shaped(d, 1), Shaped(d, shape...), Shaped(d, shape...))
}

func (c Gate) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 2, 2)
	r.columns(1, false)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(in[0].DType, in[0].Shape...))
}

func (c GateGrad) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 3, 3)
	shape := r.columns(1, true)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(in[0].DType, in[0].Shape...), Shaped(in[0].DType, shape...))
}

func (c GradScale) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 2, 2)
	r.floats(0, 1)
	if r.ok() {
		r.want(fmt.Sprint(in[1].Shape) == "[1]", "input 1 must have shape [1]")
	}
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(in[0].DType, in[0].Shape...))
}

// added is the rule of a norm call with one more operand of x's shape, at index at, which the rule of the plain norm does not know.
func added(c, plain Call, in []View, at int) (out, aux []View, err error) {
	if at >= len(in) {
		return nil, nil, fmt.Errorf("%s: %d inputs, wants more", c.Kernel(), len(in))
	}
	r := &rule{call: c, in: in}
	r.floats(0, at)
	r.alike(0, at)
	if !r.ok() {
		return nil, nil, r.err
	}
	out, aux, err = plain.Infer(slices.Delete(slices.Clone(in), at, at+1))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.Kernel(), err)
	}
	return out, aux, nil
}

func (c AddRMSNorm) Infer(in []View) (out, aux []View, err error) {
	if out, aux, err = added(c, RMSNorm(c), in, 1); err != nil {
		return nil, nil, err
	}
	return []View{out[0], out[0]}, aux, nil
}

func (c AddRMSNormGrad) Infer(in []View) (out, aux []View, err error) {
	return added(c, RMSNormGrad(c), in, 3)
}

func (c AddLayerNorm) Infer(in []View) (out, aux []View, err error) {
	if out, aux, err = added(c, LayerNorm(c), in, 1); err != nil {
		return nil, nil, err
	}
	return []View{out[0], out[0]}, aux, nil
}

func (c AddLayerNormGrad) Infer(in []View) (out, aux []View, err error) {
	return added(c, LayerNormGrad(c), in, 4)
}
