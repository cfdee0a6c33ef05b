package exec

import "prenorm/kernels"

// rule says which types the floating-point views of a call get in bfloat16 programs, one letter a view.
//
// Of an input:
//
//	w  float32; a bfloat16 value is converted
//	n  bfloat16; a float32 value is converted
//	c  as it comes
//	s  as it comes, but whoever makes it and has the choice makes it float32: it is part of a sum
//	f  as the first input of this letter comes; the others are converted to that
//
// Of an output:
//
//	w  float32
//	n  bfloat16
//	f  as the inputs of this letter
//	r  as its readers have it: float32 where one of them has letter w or s, where it has none, as logits, and in memory of the caller, as
//	   gradients; bfloat16 elsewhere
//
// Views that a rule does not list (biases, gains, tables, statistics) are float32 (w), integers stay what they are.
type rule struct{ in, out string }

// policy is the precision of bfloat16 programs: operands of products and of attention are bfloat16 and so is what lies between them; sums,
// and with them the residual stream and its gradient, are float32, and so are parameters, their gradients, statistics of norms, losses and
// logits. Inputs, parameters and gradients lie in memory that is float32 before any rule is asked. A call that is not listed is float32.
//
// Every rule lies within what [kernels.TypesOf] allows.
var policy = map[string]rule{
	"matmul":            {"nn", "r"},
	"matmul+residual":   {"nn", "w"},
	"matmul+accumulate": {"nn", "w"}, // its base is w

	"attention":      {"nnn", "n"},
	"attention.grad": {"nnnnn", "nnn"},

	"linear_cross_entropy":      {"nn", "w"},
	"linear_cross_entropy.grad": {"nn", "nww"},

	"rmsnorm":            {"c", "r"}, // r: a norm's output that is the residual stream as well (post norm) is float32
	"layernorm":          {"c", "r"},
	"rmsnorm.grad":       {"fwc", "fw"},
	"layernorm.grad":     {"fwwc", "fww"},
	"add_rmsnorm":        {"wc", "rw"},
	"add_layernorm":      {"wc", "rw"},
	"add_rmsnorm.grad":   {"wwcw", "ww"},
	"add_layernorm.grad": {"wwwcw", "www"},

	"dyt":       {"c", "r"},
	"dyt.grad":  {"fwwwc", "fwww"},
	"gate":      {"c", "r"},
	"gate.grad": {"fwc", "fw"},

	"add":     {"ss", "w"},
	"addbias": {"f", "f"},
	"sumrows": {"c", "w"},
	"moments": {"cc", "w"},

	"scale":           {"f", "f"},
	"rope":            {"f", "f"},
	"dropout":         {"f", "f"},
	"activation":      {"f", "f"},
	"activation.grad": {"ff", "f"},
	"gated":           {"ff", "f"},
	"gated.grad":      {"fff", "ff"},
}

// ruleOf finds the rule of a call.
func ruleOf(c kernels.Call) rule { return policy[ruleName(c)] }

// ruleName is the call's name, with what a product adds to.
func ruleName(c kernels.Call) string {
	if m, ok := c.(kernels.MatMul); ok && m.Residual {
		return "matmul+residual"
	} else if ok && m.Accumulate {
		return "matmul+accumulate"
	}
	return c.Kernel()
}

// letter is the letter for view i of a list.
func letter(rule string, i int) byte {
	if i < len(rule) {
		return rule[i]
	}
	return 'w'
}

// narrows says whether the program's values may be bfloat16.
func (p *Plan) narrows() bool {
	return kernels.PrecisionOf(p.be) == kernels.PrecisionBF16 && !p.spec.Wide
}

// prospect is a step's views as the policy may come to type them, with a given type where it leaves the choice to the values around.
func (p *Plan) prospect(s step, free kernels.DType) kernels.Args {
	typed := func(letters string, list []*buffer) []kernels.View {
		out := views(list)
		for i := range out {
			if !p.narrows() || out[i].DType != kernels.F32 {
				continue
			}
			switch letter(letters, i) {
			case 'w':
			case 'n':
				out[i].DType = kernels.BF16
			default:
				out[i].DType = free
			}
		}
		return out
	}
	r := ruleOf(s.call)
	return kernels.Args{Out: typed(r.out, s.out), Aux: views(s.aux), In: typed(r.in, s.in), Saved: views(s.saved)}
}
