package exec

import (
	"fmt"
	"slices"
	"strings"
)

// pass fuses steps. try fuses the step of one slot with another, if it can.
type pass struct {
	name string
	try  func(e *editor, at int)
}

// passes in their order. A product takes in its bias first, so that the sums that follow find it complete. Adding in place saves memory, so
// it goes before the residual form, and both before a norm of the sum: they save a write and a read of the product, that only a read of the
// sum.
var passes = []pass{
	{"bias", fuseBias},
	{"accumulate", fuseAccumulate},
	{"residual", fuseResidual},
	{"add-norm", fuseAddNorm},
	{"norm-grad-add", fuseNormGradAdd},
}

// Passes names the passes that fuse launches, in their order:
//
//	bias           a product and its bias: MatMul, AddBias
//	accumulate     a product that is added to a value that is not needed any more (sums of gradients), in place: MatMul, Add
//	residual       a product that is added to a value that lives on: MatMul, Add
//	add-norm       a residual sum and the norm of it: Add, RMSNorm or LayerNorm
//	norm-grad-add  a norm's gradient and the gradient that came past the norm: RMSNormGrad or LayerNormGrad, Add
//	join           neighbouring calls of which none needs another's results, which then run side by side in one launch, where the backend
//	               is a [kernels.Joiner]
//
// A pass leaves the steps alone where the backend refuses the fused call. Watching a value changes no other: one that is fused away is
// computed once more, by itself.
func Passes() []string {
	names := make([]string, len(passes), len(passes)+1)
	for i, p := range passes {
		names[i] = p.name
	}
	return append(names, joinPass)
}

// fuse runs the passes.
func (p *Plan) fuse() error {
	for _, name := range p.spec.Without {
		if !slices.Contains(Passes(), name) {
			return fmt.Errorf("no pass %q (have %s)", name, strings.Join(Passes(), ", "))
		}
	}
	looks := slices.DeleteFunc(slices.Clone(p.steps), func(s step) bool { return !s.look })
	p.steps = slices.DeleteFunc(p.steps, func(s step) bool { return s.look })
	e := newEditor(p, looks)
	for _, pass := range passes {
		if slices.Contains(p.spec.Without, pass.name) || pass.name == "accumulate" && p.spec.Packing != nil {
			continue
		}
		for at := range e.slots {
			if e.slots[at].main != nil {
				pass.try(e, at)
			}
		}
	}
	p.steps = e.steps()
	return nil
}
