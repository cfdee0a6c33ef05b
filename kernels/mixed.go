package kernels

import (
	"fmt"
	"slices"
)

// Precision is the arithmetic of a program: which type its matrix products and the values between them have.
type Precision string

// Precisions. In each of them parameters, gradients of parameters, optimizer moments, the residual stream, statistics of norms and the loss
// are float32.
const (
	PrecisionFP32 Precision = "fp32" // everything is float32
	PrecisionTF32 Precision = "tf32" // as fp32, but factors of matrix products are rounded to 10 bits of mantissa; sums are float32
	PrecisionBF16 Precision = "bf16" // operands of matrix products and of attention are bfloat16; sums are float32
)

// Precisions lists them.
func Precisions() []Precision { return []Precision{PrecisionFP32, PrecisionTF32, PrecisionBF16} }

// Mixed is implemented by backends that can be opened in more than one [Precision].
type Mixed interface{ Precision() Precision }

// PrecisionOf is the precision that a backend was opened in.
func PrecisionOf(be Backend) Precision {
	if m, ok := be.(Mixed); ok {
		return m.Precision()
	}
	return PrecisionFP32
}

// Types says which types the views of a call may have in a program with BF16 values, one letter a view:
//
//	w  F32 only (or I32, where the call says so)
//	e  F32 or BF16
//	a  F32 or BF16, all views of this letter alike
//	b  F32 or BF16, but BF16 only when the views of letter a are
//
// Statistics (Aux and Saved) are always F32. Optional inputs are not listed and are as w.
type Types struct{ Out, In string }

// TypesOf returns the rule of a call. A call without one takes F32 only.
func TypesOf(c Call) Types {
	switch c := c.(type) {
	case MatMul:
		if c.Accumulate {
			return Types{"w", "aa"}
		}
		return Types{"b", "aa"}
	case Convert:
		return Types{"e", "e"}
	case Add:
		return Types{"e", "ee"}
	case AddBias:
		return Types{"a", "a"}
	case Moments:
		return Types{"w", "ee"}
	case SumRows:
		return Types{"w", "e"}
	case Scale, GradScale, Rope, Activation, Dropout:
		return Types{"a", "a"}
	case ActivationGrad, GatedActivation:
		return Types{"a", "aa"}
	case GatedActivationGrad:
		return Types{"aa", "aaa"}
	case RMSNorm, LayerNorm:
		return Types{"e", "e"}
	case RMSNormGrad:
		return Types{"aw", "awe"}
	case LayerNormGrad:
		return Types{"aww", "awwe"}
	case DyT, Gate:
		return Types{"e", "e"}
	case DyTGrad:
		return Types{"awww", "awwwe"}
	case GateGrad:
		return Types{"aw", "awe"}
	case AddRMSNorm, AddLayerNorm:
		return Types{"ew", "we"}
	case AddRMSNormGrad:
		return Types{"ww", "wwe"}
	case AddLayerNormGrad:
		return Types{"www", "wwwe"}
	case Attention:
		return Types{"a", "aaa"}
	case AttentionGrad:
		return Types{"aaa", "aaaaa"}
	case CacheWrite:
		return Types{"a", "a"}
	case CachedAttention:
		return Types{"w", "waa"}
	case LinearCrossEntropy:
		return Types{"w", "aa"}
	case LinearCrossEntropyGrad:
		return Types{"bww", "aa"}
	case Fill:
		return Types{"a", "a"}
	}
	return Types{}
}

// letter is the rule's letter for view i.
func letter(rule string, i int) byte {
	if i < len(rule) {
		return rule[i]
	}
	return 'w'
}

// Narrow says whether any view of a call is BF16.
func Narrow(a Args) bool {
	narrow := func(v View) bool { return v.DType == BF16 }
	return slices.ContainsFunc(a.Out, narrow) || slices.ContainsFunc(a.In, narrow) || slices.ContainsFunc(a.Aux, narrow) || slices.ContainsFunc(a.Saved, narrow)
}

// Widened returns the views with F32 in the place of BF16, without memory: shapes for rules that know one type.
func Widened(a Args) Args {
	wide := func(views []View) []View {
		out := slices.Clone(views)
		for i, v := range out {
			if v.DType == BF16 {
				out[i] = Shaped(F32, v.Shape...)
			}
		}
		return out
	}
	return Args{Out: wide(a.Out), Aux: wide(a.Aux), In: wide(a.In), Saved: wide(a.Saved), Work: a.Work}
}

// checkTypes holds views of which some are BF16 against the call's rule.
func checkTypes(c Call, a Args) error {
	rule := TypesOf(c)
	same := map[DType]bool{}
	for _, group := range []struct {
		what, rule string
		views      []View
	}{{"input", rule.In, a.In}, {"output", rule.Out, a.Out}, {"statistic", "", a.Aux}, {"saved statistic", "", a.Saved}} {
		for i, v := range group.views {
			switch l := letter(group.rule, i); {
			case l == 'a':
				same[v.DType] = true
			case v.DType == BF16 && (l == 'w' || l == 'b' && !same[BF16]):
				return fmt.Errorf("%s: %s %d is %v, must be f32", c.Kernel(), group.what, i, v)
			}
		}
	}
	if same[BF16] && len(same) > 1 {
		return fmt.Errorf("%s: inputs %v and outputs %v must have one type where they can be bf16", c.Kernel(), a.In, a.Out)
	}
	return nil
}
