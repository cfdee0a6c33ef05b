package kernels

import "slices"

// Shape rules and arithmetic counts of the head, and of what chooses from its logits.

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
