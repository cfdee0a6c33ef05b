package ref

import (
	"fmt"

	"prenorm/kernels"
)

// float is the element type of a kernel.
type float interface{ float32 | float64 }

// kernel is one entry of the table: how a call is checked beyond its shapes, what workspace it wants, and how it is bound.
type kernel struct {
	check     func(kernels.Call, kernels.Args) error
	workspace func(kernels.Call, kernels.Args) int // bytes
	bind      func(kernels.Call, kernels.Args) (kernels.Launch, error)
}

// table holds the kernels by name. The init function of each op's file enters its own.
var table = map[string]kernel{}

// binder makes the launch of one call, whose views have been checked.
type binder[C kernels.Call] func(C, kernels.Args) kernels.Launch

// definition says how calls of type C run.
type definition[C kernels.Call] struct {
	f32, f64  binder[C]
	check     func(C) error             // rules for the attributes, nil = none
	workspace func(C, kernels.Args) int // in float64 elements, nil = none
}

// define enters calls of type C in the table.
func define[C kernels.Call](d definition[C]) {
	var zero C
	name := zero.Kernel()
	if _, taken := table[name]; taken {
		panic("ref: kernel defined twice: " + name)
	}
	table[name] = kernel{
		check: func(call kernels.Call, a kernels.Args) error { return d.validate(call, a) },
		workspace: func(call kernels.Call, a kernels.Args) int {
			if d.workspace == nil {
				return 0
			}
			return 8 * d.workspace(call.(C), a)
		},
		bind: func(call kernels.Call, a kernels.Args) (kernels.Launch, error) {
			if a.Out[0].DType == kernels.F32 {
				return d.f32(call.(C), a), nil
			}
			return d.f64(call.(C), a), nil
		},
	}
}

// validate holds the rules that Infer does not know: the Go type, the element type and the attributes.
func (d definition[C]) validate(call kernels.Call, a kernels.Args) error {
	c, ok := call.(C)
	if !ok {
		return fmt.Errorf("ref has no kernel for %q as %T", call.Kernel(), call)
	}
	if t := a.Out[0].DType; t != kernels.F32 && t != kernels.F64 {
		return fmt.Errorf("ref has no kernel for %q in %v: it computes in f32 and f64", call.Kernel(), t)
	}
	if d.check != nil {
		if err := d.check(c); err != nil {
			return err
		}
	}
	return nil
}

// of returns a view's elements.
func of[F float](v kernels.View) []F {
	var zero F
	if _, ok := any(zero).(float32); ok {
		return any(v.F32()).([]F)
	}
	return any(v.F64()).([]F)
}

// scratch cuts a workspace into float64 slices of the given lengths.
func scratch(work kernels.View, lengths ...int) [][]float64 {
	total := 0
	for _, n := range lengths {
		total += n
	}
	all := kernels.View{Shape: []int{total}, DType: kernels.F64, Host: work.Host}.F64()
	parts := make([][]float64, len(lengths))
	for i, n := range lengths {
		parts[i], all = all[:n:n], all[n:]
	}
	return parts
}

// round is the value that x has once it is stored as an F.
func round[F float](x float64) float64 { return float64(F(x)) }

// dot is the inner product of two vectors.
func dot[F float](a, b []F) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// row is row i of a matrix with n columns.
func row[E any](x []E, i, n int) []E { return x[i*n : (i+1)*n] }

// inRange wants every id to be one of 0 … limit-1. It takes the kernel's name, because a call passed as an interface is an allocation.
func inRange(name, what string, ids []int32, limit int) error {
	for i, id := range ids {
		if id < 0 || int(id) >= limit {
			return fmt.Errorf("%s: %s %d at index %d is outside [0, %d)", name, what, id, i, limit)
		}
	}
	return nil
}
