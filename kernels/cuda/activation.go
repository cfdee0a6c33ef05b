//go:build gpu

package cuda

import (
	_ "embed" // the PTX files
	"fmt"
	"slices"
	"strings"

	"prenorm/kernels"
)

//go:embed activation.ptx
var activationPTX string

var activations = &module{"activation", activationPTX}

// kinds are the activations that activation.cu has.
var kinds = []string{"gelu_tanh", "silu"}

func init() {
	narrowed(kernels.Activation{}, kernels.ActivationGrad{}, kernels.GatedActivation{}, kernels.GatedActivationGrad{})
	enterActivation("activation_", func(c kernels.Activation) string { return c.Kind })
	enterActivation("activation_grad_", func(c kernels.ActivationGrad) string { return c.Kind })
	enterActivation("gated_", func(c kernels.GatedActivation) string { return c.Kind })
	enterActivation("gated_grad_", func(c kernels.GatedActivationGrad) string { return c.Kind })
}

// enterActivation adds a call whose kernel takes its outputs, its inputs and the number of elements.
func enterActivation[C kernels.Call](prefix string, kind func(C) string) {
	enter(func(c C, _ kernels.Args, _ *scratch) (string, error) {
		if !slices.Contains(kinds, kind(c)) {
			return "", fmt.Errorf("%s: unknown activation %q (have %s)", c.Kernel(), kind(c), strings.Join(kinds, ", "))
		}
		return prefix + kind(c), nil
	}, func(b *builder, _ C, a kernels.Args, name string) {
		var args []any
		for _, v := range slices.Concat(a.Out, a.In) {
			args = append(args, v)
		}
		y, n := a.Out[0], a.Out[0].Len()
		b.spread(activations, typed(name, y), n, wide(y), append(args, n)...)
	})
}
