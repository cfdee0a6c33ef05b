package kernels

import (
	"fmt"
	"slices"
)

// rule collects the first broken shape rule of a call.
type rule struct {
	call Call
	in   []View
	err  error
}

// check starts the shape rules of a call with between lo and hi inputs.
func check(c Call, in []View, lo, hi int) *rule {
	r := &rule{call: c, in: in}
	if len(in) < lo || len(in) > hi {
		r.err = fmt.Errorf("%s: %d inputs, wants %d", c.Kernel(), len(in), lo)
	}
	return r
}

func (r *rule) ok() bool { return r.err == nil }

func (r *rule) want(cond bool, format string, args ...any) {
	if r.err == nil && !cond {
		r.err = fmt.Errorf("%s: %s (inputs %v)", r.call.Kernel(), fmt.Sprintf(format, args...), r.in)
	}
}

// rank wants input i to have n dimensions.
func (r *rule) rank(i, n int) {
	if r.err == nil {
		r.want(len(r.in[i].Shape) == n, "input %d must have rank %d", i, n)
	}
}

// floats wants the named inputs to be floating-point of one type, and returns that type.
func (r *rule) floats(idx ...int) DType {
	if r.err != nil {
		return F32
	}
	d := r.in[idx[0]].DType
	r.want(d == F32 || d == F64 || d == BF16, "input %d must be floating-point", idx[0])
	for _, i := range idx[1:] {
		r.want(r.in[i].DType == d, "inputs %d and %d must have one type", idx[0], i)
	}
	return d
}

// ints wants the named inputs to be int32.
func (r *rule) ints(idx ...int) {
	for _, i := range idx {
		if r.err == nil {
			r.want(r.in[i].DType == I32, "input %d must be i32", i)
		}
	}
}

// alike wants inputs of one shape.
func (r *rule) alike(idx ...int) {
	for _, i := range idx[1:] {
		if r.err == nil {
			r.want(slices.Equal(r.in[i].Shape, r.in[idx[0]].Shape), "inputs %d and %d must have one shape", idx[0], i)
		}
	}
}

func (r *rule) done(out ...View) ([]View, []View, error) {
	if r.err != nil {
		return nil, nil, r.err
	}
	return out, nil, nil
}
