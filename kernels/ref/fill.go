package ref

import (
	"fmt"
	"math"

	"prenorm/kernels"
)

func init() {
	table[kernels.Fill{}.Kernel()] = kernel{
		check:     checkFill,
		workspace: func(kernels.Call, kernels.Args) int { return 0 },
		bind:      bindFill,
	}
}

// checkFill wants the value to be one that the element type can hold: an integer type holds whole numbers of its range only.
func checkFill(call kernels.Call, a kernels.Args) error {
	c, ok := call.(kernels.Fill)
	if !ok {
		return fmt.Errorf("ref has no kernel for %q as %T", call.Kernel(), call)
	}
	bits := 0
	switch a.Out[0].DType {
	case kernels.I32:
		bits = 31
	case kernels.I8:
		bits = 7
	default:
		return nil
	}
	limit := math.Ldexp(1, bits)
	if c.Value != math.Trunc(c.Value) || c.Value < -limit || c.Value >= limit {
		return fmt.Errorf("fill: %v cannot hold %g", a.Out[0].DType, c.Value)
	}
	return nil
}

func fill[E any](x []E, value E) kernels.Launch {
	return func() error {
		for i := range x {
			x[i] = value
		}
		return nil
	}
}

// bindFill is the one kernel that serves every element type.
func bindFill(call kernels.Call, a kernels.Args) (kernels.Launch, error) {
	x, value := a.Out[0], call.(kernels.Fill).Value
	switch x.DType {
	case kernels.F32:
		return fill(x.F32(), float32(value)), nil
	case kernels.F64:
		return fill(x.F64(), value), nil
	case kernels.BF16:
		return fill(x.BF16(), bfloat16(value)), nil
	case kernels.I32:
		return fill(x.I32(), int32(value)), nil
	case kernels.I8:
		return fill(x.I8(), int8(value)), nil
	}
	return nil, fmt.Errorf("ref has no kernel for %q in %v", call.Kernel(), x.DType)
}

// bfloat16 is the nearest bfloat16 to the float32 nearest to x, ties to even; a NaN stays one.
func bfloat16(x float64) uint16 {
	bits := math.Float32bits(float32(x))
	if math.IsNaN(x) {
		return 0x7fc0
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}
