//go:build gpu

package cuda

import (
	_ "embed" // the PTX files
	"fmt"
	"math"

	"prenorm/kernels"
)

//go:embed elementwise.ptx
var elementwisePTX string

var elementwise = &module{"elementwise", elementwisePTX}

func init() {
	narrowed(kernels.Convert{}, kernels.Fill{}, kernels.Add{}, kernels.Scale{}, kernels.GradScale{}, kernels.AddBias{})
	enter(planFill, bindFill)
	enterPlain(func(b *builder, _ kernels.Convert, a kernels.Args) {
		y, x, n := a.Out[0], a.In[0], a.Out[0].Len()
		b.spread(elementwise, typed("convert", y, x), n, wide(y, x), y, x, n)
	})
	enterPlain(func(b *builder, _ kernels.Add, a kernels.Args) {
		z, x, y, n := a.Out[0], a.In[0], a.In[1], a.Out[0].Len()
		b.spread(elementwise, typed("add", z, x, y), n, wide(z, x, y), z, x, y, n)
	})
	enterPlain(func(b *builder, c kernels.Scale, a kernels.Args) {
		y, x, n := a.Out[0], a.In[0], a.Out[0].Len()
		b.spread(elementwise, typed("scale", y), n, wide(y), y, x, float32(c.Factor), n)
	})
	enterPlain(func(b *builder, _ kernels.GradScale, a kernels.Args) {
		y, x, n := a.Out[0], a.In[0], a.Out[0].Len()
		b.spread(elementwise, typed("scale", y), n, wide(y), y, x, float32(1), n)
	})
	enter(planSoftcap, func(b *builder, c kernels.Softcap, a kernels.Args, _ none) {
		y, x, n := a.Out[0], a.In[0], a.Out[0].Len()
		b.spread(elementwise, "softcap", n, wide(y), y, x, float32(c.Cap), n)
	})
	enterPlain(func(b *builder, _ kernels.AddBias, a kernels.Args) {
		y, x, bias, n := a.Out[0], a.In[0], a.In[1], a.Out[0].Len()
		b.spread(elementwise, typed("addbias", y), n, wide(y), y, x, bias, bias.Len(), n)
	})
}

func planSoftcap(c kernels.Softcap, _ kernels.Args, _ *scratch) (none, error) {
	if !(c.Cap > 0) {
		return none{}, fmt.Errorf("softcap: cap %g must be above 0", c.Cap)
	}
	return none{}, nil
}

// planFill returns the bits of one element.
func planFill(c kernels.Fill, a kernels.Args, _ *scratch) (uint64, error) {
	whole := func(bits int) error {
		if limit := math.Ldexp(1, bits); c.Value != math.Trunc(c.Value) || c.Value < -limit || c.Value >= limit {
			return fmt.Errorf("fill: %v cannot hold %g", a.Out[0].DType, c.Value)
		}
		return nil
	}
	switch a.Out[0].DType {
	case kernels.F64:
		return math.Float64bits(c.Value), nil
	case kernels.BF16:
		return uint64(kernels.ToBF16(float32(c.Value))), nil
	case kernels.I32:
		return uint64(uint32(int32(c.Value))), whole(31)
	case kernels.I8:
		return uint64(uint8(int8(c.Value))), whole(7)
	}
	return uint64(math.Float32bits(float32(c.Value))), nil
}

func bindFill(b *builder, _ kernels.Fill, a kernels.Args, bits uint64) {
	n, size := a.Out[0].Len(), a.Out[0].DType.Size()
	b.spread(elementwise, fmt.Sprint("fill_", size), n, 16/size, a.Out[0], bits, n)
}
