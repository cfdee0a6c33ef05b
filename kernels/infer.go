package kernels

import (
	"fmt"
	"slices"
)

// The methods of calls: names, shape rules and arithmetic counts.

func (MatMul) Kernel() string                 { return "matmul" }
func (Convert) Kernel() string                { return "convert" }
func (AddBias) Kernel() string                { return "addbias" }
func (SumRows) Kernel() string                { return "sumrows" }
func (Add) Kernel() string                    { return "add" }
func (Scale) Kernel() string                  { return "scale" }
func (Softcap) Kernel() string                { return "softcap" }
func (Embed) Kernel() string                  { return "embed" }
func (EmbedGrad) Kernel() string              { return "embed.grad" }
func (RMSNorm) Kernel() string                { return "rmsnorm" }
func (RMSNormGrad) Kernel() string            { return "rmsnorm.grad" }
func (AddRMSNorm) Kernel() string             { return "add_rmsnorm" }
func (AddRMSNormGrad) Kernel() string         { return "add_rmsnorm.grad" }
func (LayerNorm) Kernel() string              { return "layernorm" }
func (LayerNormGrad) Kernel() string          { return "layernorm.grad" }
func (AddLayerNorm) Kernel() string           { return "add_layernorm" }
func (AddLayerNormGrad) Kernel() string       { return "add_layernorm.grad" }
func (BatchNorm) Kernel() string              { return "batchnorm" }
func (BatchNormGrad) Kernel() string          { return "batchnorm.grad" }
func (BatchNormUpdate) Kernel() string        { return "batchnorm.update" }
func (BatchNormInference) Kernel() string     { return "batchnorm.inference" }
func (DyT) Kernel() string                    { return "dyt" }
func (DyTGrad) Kernel() string                { return "dyt.grad" }
func (Gate) Kernel() string                   { return "gate" }
func (GateGrad) Kernel() string               { return "gate.grad" }
func (GradScale) Kernel() string              { return "gradscale" }
func (Rope) Kernel() string                   { return "rope" }
func (Attention) Kernel() string              { return "attention" }
func (AttentionGrad) Kernel() string          { return "attention.grad" }
func (CacheWrite) Kernel() string             { return "cache.write" }
func (CachedAttention) Kernel() string        { return "attention.cached" }
func (Activation) Kernel() string             { return "activation" }
func (ActivationGrad) Kernel() string         { return "activation.grad" }
func (GatedActivation) Kernel() string        { return "gated" }
func (GatedActivationGrad) Kernel() string    { return "gated.grad" }
func (Dropout) Kernel() string                { return "dropout" }
func (LinearCrossEntropy) Kernel() string     { return "linear_cross_entropy" }
func (LinearCrossEntropyGrad) Kernel() string { return "linear_cross_entropy.grad" }
func (SampleTokens) Kernel() string           { return "sample_tokens" }
func (Fill) Kernel() string                   { return "fill" }
func (GlobalNorm) Kernel() string             { return "global_norm" }
func (ClipFactor) Kernel() string             { return "clip_factor" }
func (Moments) Kernel() string                { return "moments" }
func (AdamW) Kernel() string                  { return "adamw" }
func (SGD) Kernel() string                    { return "sgd" }

func (Add) InPlace() []int            { return []int{0, 1} }
func (Scale) InPlace() []int          { return []int{0} }
func (Softcap) InPlace() []int        { return []int{0} }
func (GradScale) InPlace() []int      { return []int{0} }
func (Rope) InPlace() []int           { return []int{0} }
func (ActivationGrad) InPlace() []int { return []int{1} }
func (Dropout) InPlace() []int        { return []int{0} }
func (CacheWrite) InPlace() []int     { return []int{0} }

func (BatchNormUpdate) InPlace() []int { return []int{0} }

func (AddRMSNormGrad) InPlace() []int   { return []int{3} }
func (AddLayerNormGrad) InPlace() []int { return []int{4} }

func (c RMSNormGrad) Forward() (Call, int)   { return RMSNorm(c), 2 }
func (c LayerNormGrad) Forward() (Call, int) { return LayerNorm(c), 3 }
func (c BatchNormGrad) Forward() (Call, int) { return BatchNorm(c), 3 }
func (c AttentionGrad) Forward() (Call, int) { return Attention(c), 3 }

func (c AddRMSNormGrad) Forward() (Call, int)   { return RMSNorm(c), 2 }
func (c AddLayerNormGrad) Forward() (Call, int) { return LayerNorm(c), 3 }

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

// Dims returns M, N and K of the product.
func (c MatMul) Dims(in []View) (m, n, k int) {
	m, k, n = in[0].Dim(0), in[0].Dim(1), in[1].Dim(1)
	if c.TransA {
		m, k = k, m
	}
	if c.TransB {
		n = in[1].Dim(0)
	}
	return m, n, k
}

func (c MatMul) Infer(in []View) (out, aux []View, err error) {
	operands := []int{0, 1}
	if c.Bias {
		operands = append(operands, len(operands))
	}
	if c.Residual {
		operands = append(operands, len(operands))
	}
	r := check(c, in, len(operands), len(operands))
	r.want(!c.Accumulate || !c.Residual, "it cannot both accumulate and add a residual")
	r.rank(0, 2)
	r.rank(1, 2)
	d := r.floats(operands...)
	if !r.ok() {
		return nil, nil, r.err
	}
	m, n, k := c.Dims(in)
	kb := in[1].Dim(0)
	if c.TransB {
		kb = in[1].Dim(1)
	}
	r.want(k == kb, "inner dimensions %d and %d differ", k, kb)
	if c.Bias {
		r.want(slices.Equal(in[2].Shape, []int{n}), "the bias must have shape [%d]", n)
	}
	if c.Residual {
		r.want(slices.Equal(in[len(in)-1].Shape, []int{m, n}), "the residual must have shape [%d %d]", m, n)
	}
	return r.done(Shaped(d, m, n))
}

// FLOPs implements [Coster].
func (c MatMul) FLOPs(a Args) int64 {
	m, n, k := c.Dims(a.In)
	return 2 * int64(m) * int64(n) * int64(k)
}

func (c AddBias) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 2, 2)
	r.rank(0, 2)
	r.rank(1, 1)
	d := r.floats(0, 1)
	if r.ok() {
		r.want(in[0].Dim(1) == in[1].Dim(0), "bias does not fit the rows")
	}
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(d, in[0].Shape...))
}

func (c SumRows) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 1, 1)
	r.rank(0, 2)
	d := r.floats(0)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(d, in[0].Dim(1)))
}

// elementwise is the rule of calls whose n inputs and single output have one shape.
func elementwise(c Call, in []View, n int) (out, aux []View, err error) {
	r := check(c, in, n, n)
	idx := make([]int, n)
	for i := range idx {
		idx[i] = i
	}
	d := r.floats(idx...)
	r.alike(idx...)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(d, in[0].Shape...))
}

func (c Add) Infer(in []View) (out, aux []View, err error)             { return elementwise(c, in, 2) }
func (c Convert) Infer(in []View) (out, aux []View, err error)         { return elementwise(c, in, 1) }
func (c Scale) Infer(in []View) (out, aux []View, err error)           { return elementwise(c, in, 1) }
func (c Softcap) Infer(in []View) (out, aux []View, err error)         { return elementwise(c, in, 1) }
func (c Activation) Infer(in []View) (out, aux []View, err error)      { return elementwise(c, in, 1) }
func (c ActivationGrad) Infer(in []View) (out, aux []View, err error)  { return elementwise(c, in, 2) }
func (c GatedActivation) Infer(in []View) (out, aux []View, err error) { return elementwise(c, in, 2) }

func (c GatedActivationGrad) Infer(in []View) (out, aux []View, err error) {
	if out, _, err = elementwise(c, in, 3); err != nil {
		return nil, nil, err
	}
	return []View{out[0], out[0]}, nil, nil
}

func (c Dropout) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 2, 2)
	d := r.floats(0)
	r.ints(1)
	r.rank(1, 1)
	if r.ok() {
		r.want(in[1].Dim(0) == 4, "the counter must have 4 elements")
		r.want(c.Rate >= 0 && c.Rate < 1, "rate %g is outside [0, 1)", c.Rate)
	}
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(d, in[0].Shape...))
}

func (c Embed) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 2, 2)
	r.ints(0)
	r.rank(0, 1)
	r.rank(1, 2)
	if !r.ok() {
		return nil, nil, r.err
	}
	d := r.floats(1)
	return r.done(Shaped(d, in[0].Dim(0), in[1].Dim(1)))
}

func (c EmbedGrad) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 2, 2)
	r.ints(0)
	r.rank(0, 1)
	r.rank(1, 2)
	if !r.ok() {
		return nil, nil, r.err
	}
	d := r.floats(1)
	r.want(in[0].Dim(0) == in[1].Dim(0), "tokens and rows differ in number")
	return r.done(Shaped(d, c.Vocab, in[1].Dim(1)))
}

// norm is the rule of norms over runs of D elements: x, then parameters of [D], then for a gradient dy.
func norm(c Call, in []View, params int, grad bool) (r *rule, d DType, runs int) {
	n := 1 + params
	if grad {
		n++
	}
	r = check(c, in, n, n)
	r.rank(0, 2)
	idx := []int{0}
	for i := 1; i <= params; i++ {
		r.rank(i, 1)
		idx = append(idx, i)
	}
	if grad {
		idx = append(idx, n-1)
		r.alike(0, n-1)
	}
	d = r.floats(idx...)
	if !r.ok() {
		return r, d, 0
	}
	size := in[1].Dim(0)
	if params == 2 {
		r.alike(1, 2)
	}
	r.want(size > 0 && in[0].Dim(1)%size == 0, "the gain's size must divide the width")
	if r.ok() {
		runs = in[0].Len() / size
	}
	return r, d, runs
}

func (c RMSNorm) Infer(in []View) (out, aux []View, err error) {
	r, d, runs := norm(c, in, 1, false)
	if !r.ok() {
		return nil, nil, r.err
	}
	return []View{Shaped(d, in[0].Shape...)}, []View{Shaped(d, runs)}, nil
}

func (c RMSNormGrad) Infer(in []View) (out, aux []View, err error) {
	r, d, _ := norm(c, in, 1, true)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(d, in[0].Shape...), Shaped(d, in[1].Shape...))
}

func (c LayerNorm) Infer(in []View) (out, aux []View, err error) {
	r, d, runs := norm(c, in, 2, false)
	if !r.ok() {
		return nil, nil, r.err
	}
	return []View{Shaped(d, in[0].Shape...)}, []View{Shaped(d, runs), Shaped(d, runs)}, nil
}

func (c LayerNormGrad) Infer(in []View) (out, aux []View, err error) {
	r, d, _ := norm(c, in, 2, true)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(d, in[0].Shape...), Shaped(d, in[1].Shape...), Shaped(d, in[2].Shape...))
}

func (c BatchNorm) Infer(in []View) (out, aux []View, err error) {
	r, d, _ := norm(c, in, 2, false)
	if !r.ok() {
		return nil, nil, r.err
	}
	return []View{Shaped(d, in[0].Shape...)}, []View{Shaped(d, in[1].Shape...), Shaped(d, in[1].Shape...)}, nil
}

func (c BatchNormGrad) Infer(in []View) (out, aux []View, err error) {
	r, d, _ := norm(c, in, 2, true)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(d, in[0].Shape...), Shaped(d, in[1].Shape...), Shaped(d, in[2].Shape...))
}

// running is the rule of running statistics at input i, of runs of d elements of x at input x.
func (r *rule) running(i, x int) {
	r.rank(i, 2)
	r.rank(x, 2)
	r.floats(i, x)
	if r.ok() {
		d := r.in[i].Dim(1)
		r.want(r.in[i].Dim(0) == 2, "running statistics must have two rows")
		r.want(d > 0 && r.in[x].Dim(1)%d == 0, "the size of running statistics must divide the width")
	}
}

func (c BatchNormUpdate) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 2, 2)
	r.running(0, 1)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(in[0].DType, in[0].Shape...))
}

func (c BatchNormInference) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 4, 4)
	r.running(3, 0)
	if !r.ok() {
		return nil, nil, r.err
	}
	n, d, _ := norm(c, in[:3], 2, false)
	if !n.ok() {
		return nil, nil, n.err
	}
	r.want(in[3].Dim(1) == in[1].Dim(0), "running statistics and gain differ in size")
	return r.done(Shaped(d, in[0].Shape...))
}

// columns is the rule of calls on x[N,C] with parameters whose size divides C, the last of them input last, and for a gradient dy after
// it. It returns the shape of the parameters.
func (r *rule) columns(last int, grad bool) []int {
	idx := []int{0}
	r.rank(0, 2)
	for i := 1; i <= last; i++ {
		r.rank(i, 1)
		idx = append(idx, i)
	}
	if grad {
		idx = append(idx, last+1)
		r.alike(0, last+1)
	}
	r.floats(idx...)
	if !r.ok() {
		return nil
	}
	size := r.in[last].Dim(0)
	r.want(size > 0 && r.in[0].Dim(1)%size == 0, "the size of input %d must divide the width", last)
	return r.in[last].Shape
}

func (c DyT) rule(call Call, in []View, grad bool) (*rule, []int) {
	n := 4
	if grad {
		n++
	}
	r := check(call, in, n, n)
	shape := r.columns(3, grad)
	if r.ok() {
		r.alike(2, 3)
		r.want(in[1].Dim(0) == 1, "alpha must have one element")
	}
	return r, shape
}

func (c DyT) Infer(in []View) (out, aux []View, err error) {
	r, _ := c.rule(c, in, false)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(in[0].DType, in[0].Shape...))
}

func (c DyTGrad) Infer(in []View) (out, aux []View, err error) {
	r, shape := DyT(c).rule(c, in, true)
	if !r.ok() {
		return nil, nil, r.err
	}
	d := in[0].DType
	return r.done(Shaped(d, in[0].Shape...), Shaped(d, 1), Shaped(d, shape...), Shaped(d, shape...))
}

func (c Gate) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 2, 2)
	r.columns(1, false)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(in[0].DType, in[0].Shape...))
}

func (c GateGrad) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 3, 3)
	shape := r.columns(1, true)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(in[0].DType, in[0].Shape...), Shaped(in[0].DType, shape...))
}

func (c GradScale) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 2, 2)
	r.floats(0, 1)
	if r.ok() {
		r.want(fmt.Sprint(in[1].Shape) == "[1]", "input 1 must have shape [1]")
	}
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(in[0].DType, in[0].Shape...))
}

// added is the rule of a norm call with one more operand of x's shape, at index at, which the rule of the plain norm does not know.
func added(c, plain Call, in []View, at int) (out, aux []View, err error) {
	if at >= len(in) {
		return nil, nil, fmt.Errorf("%s: %d inputs, wants more", c.Kernel(), len(in))
	}
	r := &rule{call: c, in: in}
	r.floats(0, at)
	r.alike(0, at)
	if !r.ok() {
		return nil, nil, r.err
	}
	out, aux, err = plain.Infer(slices.Delete(slices.Clone(in), at, at+1))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.Kernel(), err)
	}
	return out, aux, nil
}

func (c AddRMSNorm) Infer(in []View) (out, aux []View, err error) {
	if out, aux, err = added(c, RMSNorm(c), in, 1); err != nil {
		return nil, nil, err
	}
	return []View{out[0], out[0]}, aux, nil
}

func (c AddRMSNormGrad) Infer(in []View) (out, aux []View, err error) {
	return added(c, RMSNormGrad(c), in, 3)
}

func (c AddLayerNorm) Infer(in []View) (out, aux []View, err error) {
	if out, aux, err = added(c, LayerNorm(c), in, 1); err != nil {
		return nil, nil, err
	}
	return []View{out[0], out[0]}, aux, nil
}

func (c AddLayerNormGrad) Infer(in []View) (out, aux []View, err error) {
	return added(c, LayerNormGrad(c), in, 4)
}

func (c Rope) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 3, 3)
	r.rank(0, 2)
	r.rank(1, 1)
	r.rank(2, 2)
	r.ints(1)
	d := r.floats(0, 2)
	if !r.ok() {
		return nil, nil, r.err
	}
	size := in[2].Dim(1)
	r.want(in[0].Dim(0) == in[1].Dim(0), "one position a row is needed")
	r.want(size > 0 && size%2 == 0 && in[0].Dim(1)%size == 0, "the table's width must be even and divide the rows")
	return r.done(Shaped(d, in[0].Shape...))
}

// heads is the rule of queries, keys and values in rows of sequences.
func (r *rule) heads(h, kv, dim, t int) {
	r.rank(0, 2)
	r.rank(1, 2)
	r.rank(2, 2)
	r.alike(1, 2)
	r.want(h > 0 && kv > 0 && dim > 0 && t > 0 && h%kv == 0, "heads %d, kv_heads %d, head_dim %d, T %d do not fit", h, kv, dim, t)
	if r.ok() {
		r.want(r.in[0].Dim(1) == h*dim, "queries must have %d columns", h*dim)
		r.want(r.in[1].Dim(1) == kv*dim, "keys must have %d columns", kv*dim)
		r.want(r.in[0].Dim(0)%t == 0, "rows must be a multiple of T = %d", t)
	}
}

func (c Attention) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 3, 4)
	r.heads(c.Heads, c.KVHeads, c.HeadDim, c.T)
	d := r.floats(0, 1, 2)
	if r.ok() {
		r.want(in[0].Dim(0) == in[1].Dim(0), "queries and keys differ in rows")
	}
	r.documents(3)
	if !r.ok() {
		return nil, nil, r.err
	}
	return []View{Shaped(d, in[0].Shape...)}, []View{Shaped(d, in[0].Dim(0), c.Heads)}, nil
}

// documents is the rule of the optional document ids at input i.
func (r *rule) documents(i int) {
	if r.err == nil && len(r.in) > i {
		r.ints(i)
		r.rank(i, 1)
		if r.ok() {
			r.want(r.in[i].Dim(0) == r.in[0].Dim(0), "one document id a row is needed")
		}
	}
}

// FLOPs counts the full T x T square: skipping what is masked counts as speed.
func (c Attention) FLOPs(a Args) int64 {
	return 4 * int64(a.In[0].Len()) * int64(c.T)
}

func (c AttentionGrad) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 5, 6)
	r.heads(c.Heads, c.KVHeads, c.HeadDim, c.T)
	d := r.floats(0, 1, 2, 3, 4)
	r.alike(0, 3, 4)
	r.documents(5)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(d, in[0].Shape...), Shaped(d, in[1].Shape...), Shaped(d, in[2].Shape...))
}

// FLOPs counts twice the forward, as is usual; recomputing scores is not counted.
func (c AttentionGrad) FLOPs(a Args) int64 {
	return 8 * int64(a.In[0].Len()) * int64(c.T)
}

func (c CacheWrite) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 3, 3)
	r.rank(0, 2)
	r.rank(1, 2)
	r.ints(2)
	d := r.floats(0, 1)
	if !r.ok() {
		return nil, nil, r.err
	}
	r.want(in[2].Len() == 1, "position must have one element")
	r.want(in[0].Dim(1) == in[1].Dim(1), "cache and new rows differ in width")
	r.want(c.T > 0 && c.Context > 0 && in[0].Dim(0)%c.Context == 0 && in[0].Dim(0)/max(c.Context, 1)*c.T == in[1].Dim(0), "T %d and context %d do not fit", c.T, c.Context)
	return r.done(Shaped(d, in[0].Shape...))
}

func (c CachedAttention) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 4, 4)
	r.heads(c.Heads, c.KVHeads, c.HeadDim, c.T)
	d := r.floats(0, 1, 2)
	r.ints(3)
	if !r.ok() {
		return nil, nil, r.err
	}
	r.want(in[3].Len() == 1, "position must have one element")
	r.want(c.Context > 0 && in[0].Dim(0)/c.T*c.Context == in[1].Dim(0), "the cache must have %d rows a sequence", c.Context)
	return r.done(Shaped(d, in[0].Shape...))
}

// FLOPs counts the full context.
func (c CachedAttention) FLOPs(a Args) int64 {
	return 4 * int64(a.In[0].Len()) * int64(c.Context)
}

// head is the rule of x, W, targets, normaliser.
func head(c Call, in []View, n int) (*rule, DType) {
	r := check(c, in, n, n)
	r.rank(0, 2)
	r.rank(1, 2)
	r.rank(2, 1)
	r.ints(2)
	d := r.floats(0, 1, 3)
	if r.ok() {
		r.want(in[0].Dim(1) == in[1].Dim(1), "x and W differ in width")
		r.want(in[0].Dim(0) == in[2].Dim(0), "one target a row is needed")
		r.want(in[3].Len() == 1, "normaliser must have one element")
	}
	return r, d
}

func (c LinearCrossEntropy) Infer(in []View) (out, aux []View, err error) {
	r, d := head(c, in, 4)
	return r.done(Shaped(d))
}

// FLOPs implements [Coster].
func (c LinearCrossEntropy) FLOPs(a Args) int64 {
	return 2 * int64(a.In[0].Len()) * int64(a.In[1].Dim(0))
}

func (c LinearCrossEntropyGrad) Infer(in []View) (out, aux []View, err error) {
	r, d := head(c, in, 5)
	if !r.ok() {
		return nil, nil, r.err
	}
	r.want(in[4].Len() == 1 && in[4].DType == d, "dloss must be a scalar of the same type")
	return r.done(Shaped(d, in[0].Shape...), Shaped(d, in[1].Shape...), Shaped(d))
}

// FLOPs counts the logits and both gradients.
func (c LinearCrossEntropyGrad) FLOPs(a Args) int64 {
	return 6 * int64(a.In[0].Len()) * int64(a.In[1].Dim(0))
}

func (c SampleTokens) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 2, 2)
	r.rank(0, 2)
	r.rank(1, 2)
	r.floats(0)
	r.ints(1)
	if r.ok() {
		r.want(in[0].Dim(1) > 0, "there must be logits to choose from")
		r.want(slices.Equal(in[1].Shape, []int{in[0].Dim(0), 2}), "places must have shape [%d 2]", in[0].Dim(0))
		r.want(c.Temperature >= 0 && c.TopK >= 0 && c.TopP >= 0 && c.TopP <= 1 && c.MinP >= 0 && c.MinP < 1,
			"temperature %g and top_k %d must not be negative, top_p %g in [0, 1], min_p %g in [0, 1)", c.Temperature, c.TopK, c.TopP, c.MinP)
	}
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(Shaped(I32, in[0].Dim(0)))
}

// Infer takes the shape of what is filled from its only input, which is the output's memory.
func (c Fill) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 1, 1)
	if !r.ok() {
		return nil, nil, r.err
	}
	return r.done(in[0])
}

func (c GlobalNorm) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 1, 1)
	d := r.floats(0)
	return r.done(Shaped(d, 1))
}

func (c Moments) Infer(in []View) (out, aux []View, err error) {
	if out, _, err = elementwise(c, in, 2); err != nil {
		return nil, nil, err
	}
	return []View{Shaped(out[0].DType, 4)}, nil, nil
}

func (c ClipFactor) Infer(in []View) (out, aux []View, err error) {
	r := check(c, in, 3, 3)
	d := r.floats(0, 1, 2)
	if r.ok() {
		r.want(in[0].Len() == 1, "norm must have one element")
		r.want(len(in[1].Shape) == 0, "loss must be a scalar")
		r.want(slices.Equal(in[2].Shape, []int{2}), "limits must have shape [2]")
	}
	return r.done(Shaped(d, 1))
}

func update(c Call, in []View, state int) (out, aux []View, err error) {
	n := state + 3 // parameter, state, gradient, hyper
	r := check(c, in, n, n)
	idx := make([]int, n-1)
	for i := range idx {
		idx[i] = i
	}
	r.alike(idx...)
	d := r.floats(append(idx, n-1)...)
	if !r.ok() {
		return nil, nil, r.err
	}
	r.want(in[n-1].Len() == 4, "hyper must have 4 elements")
	for i := 0; i <= state; i++ {
		out = append(out, Shaped(d, in[i].Shape...))
	}
	return r.done(out...)
}

func (c AdamW) Infer(in []View) (out, aux []View, err error) { return update(c, in, 2) }
func (c SGD) Infer(in []View) (out, aux []View, err error)   { return update(c, in, 1) }
