package kernels

// Shape rules and arithmetic counts of rotations, attention and its caches.

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
