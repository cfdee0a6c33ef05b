package ref

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"prenorm/kernels"
)

func init() {
	define(definition[kernels.Activation]{f32: bindActivation[float32], f64: bindActivation[float64], check: func(c kernels.Activation) error {
		return checkKind(c, c.Kind)
	}})
	define(definition[kernels.ActivationGrad]{f32: bindActivationGrad[float32], f64: bindActivationGrad[float64], check: func(c kernels.ActivationGrad) error {
		return checkKind(c, c.Kind)
	}})
}

// curve is an activation function and its derivative.
type curve struct{ value, slope func(x float64) float64 }

// curves are the activations by kind.
var curves = map[string]curve{
	"gelu_tanh": {geluTanh, geluTanhSlope},
	"silu":      {silu, siluSlope},
}

func checkKind(c kernels.Call, kind string) error {
	if _, ok := curves[kind]; !ok {
		return fmt.Errorf("%s: unknown activation %q (have %s)", c.Kernel(), kind, strings.Join(slices.Sorted(maps.Keys(curves)), ", "))
	}
	return nil
}

// The constants of the tanh approximation of GELU.
const (
	geluCubic = 0.044715
	geluScale = math.Sqrt2 / math.SqrtPi // sqrt(2/π)
)

// geluTanh is 0.5 x (1 + tanh(sqrt(2/π)(x + 0.044715 x³))).
func geluTanh(x float64) float64 {
	return 0.5 * x * (1 + math.Tanh(geluScale*(x+geluCubic*x*x*x)))
}

func geluTanhSlope(x float64) float64 {
	t := math.Tanh(geluScale * (x + geluCubic*x*x*x))
	return 0.5*(1+t) + 0.5*x*(1-t*t)*geluScale*(1+3*geluCubic*x*x)
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// silu is x sigmoid(x).
func silu(x float64) float64 { return x * sigmoid(x) }

func siluSlope(x float64) float64 {
	s := sigmoid(x)
	return s * (1 + x*(1-s))
}

// activation is y = act(x).
func activation[F float](y, x []F, act curve) {
	for i := range y {
		y[i] = F(act.value(float64(x[i])))
	}
}

func bindActivation[F float](c kernels.Activation, v kernels.Args) kernels.Launch {
	y, x, act := of[F](v.Out[0]), of[F](v.In[0]), curves[c.Kind]
	return func() error {
		activation(y, x, act)
		return nil
	}
}

// activationGrad is dx = dy act'(x); dx may be dy.
func activationGrad[F float](dx, x, dy []F, act curve) {
	for i := range dx {
		dx[i] = F(float64(dy[i]) * act.slope(float64(x[i])))
	}
}

func bindActivationGrad[F float](c kernels.ActivationGrad, v kernels.Args) kernels.Launch {
	dx, x, dy, act := of[F](v.Out[0]), of[F](v.In[0]), of[F](v.In[1]), curves[c.Kind]
	return func() error {
		activationGrad(dx, x, dy, act)
		return nil
	}
}
