package exec

import (
	"testing"

	"prenorm/kernels"
)

// ruled are the calls that the policy has rules for.
var ruled = []kernels.Call{
	kernels.MatMul{}, kernels.MatMul{Bias: true}, kernels.MatMul{Residual: true}, kernels.MatMul{Accumulate: true},
	kernels.Attention{}, kernels.AttentionGrad{}, kernels.LinearCrossEntropy{}, kernels.LinearCrossEntropyGrad{},
	kernels.RMSNorm{}, kernels.LayerNorm{}, kernels.RMSNormGrad{}, kernels.LayerNormGrad{},
	kernels.AddRMSNorm{}, kernels.AddLayerNorm{}, kernels.AddRMSNormGrad{}, kernels.AddLayerNormGrad{},
	kernels.DyT{}, kernels.DyTGrad{}, kernels.Gate{}, kernels.GateGrad{},
	kernels.Add{}, kernels.AddBias{}, kernels.SumRows{}, kernels.Moments{}, kernels.Scale{}, kernels.Rope{}, kernels.Dropout{},
	kernels.Activation{}, kernels.ActivationGrad{}, kernels.GatedActivation{}, kernels.GatedActivationGrad{},
}

// TestPolicyWithinTypes holds every rule against what the calls may have: whatever type the policy comes to choose for a view must be one
// that [kernels.TypesOf] allows there.
func TestPolicyWithinTypes(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range ruled {
		r, allowed := ruleOf(c), kernels.TypesOf(c)
		seen[ruleName(c)] = true
		if r.in == "" || r.out == "" {
			t.Errorf("%T has no rule", c)
		}
		for _, list := range []struct{ letters, allowed string }{{r.in, allowed.In}, {r.out, allowed.Out}} {
			if len(list.letters) < len(list.allowed) {
				t.Errorf("%s: the rule %q leaves out views of %q", ruleName(c), list.letters, list.allowed)
			}
			for i := range list.letters {
				if !within(list.letters[i], letter(list.allowed, i), r) {
					t.Errorf("%s: letter %c of rule %q where the call allows %q", ruleName(c), list.letters[i], list.letters, list.allowed)
				}
			}
		}
	}
	for name := range policy {
		if !seen[name] {
			t.Errorf("the rule %q is of no call here", name)
		}
	}
}

// within says whether a letter of the policy chooses only what a letter of [kernels.Types] allows.
func within(policy, allowed byte, r rule) bool {
	switch allowed {
	case 'e': // either type
		return true
	case 'a': // either, all alike
		return policy == 'f' || policy == 'n'
	case 'b': // bfloat16 only beside bfloat16 operands, which these calls always have
		return r.in[:2] == "nn"
	}
	return policy == 'w'
}
