package kernels

import "slices"

// Shape rules and arithmetic counts of products, element-wise calls, lookups and the optimizer.

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
