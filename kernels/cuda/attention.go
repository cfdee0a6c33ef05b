//go:build gpu

package cuda

import (
	_ "embed" // the PTX files
	"fmt"
	"slices"

	"prenorm/kernels"
)

//go:embed attention.ptx
var attentionPTX string

//go:embed attentiongrad.ptx
var attentionGradPTX string

//go:embed cached.ptx
var cachedPTX string

var (
	attentions     = &module{"attention", attentionPTX}
	attentionGrads = &module{"attentiongrad", attentionGradPTX}
	cached         = &module{"cached", cachedPTX}
)

func init() {
	enter(planAttention, bindAttention)
	enter(planAttentionGrad, bindAttentionGrad)
	enter(planCached, bindCached)
	narrowed(kernels.Attention{}, kernels.AttentionGrad{})
}

// attentionShape is how a kernel treats a head dimension: it is padded to size, and a block of threads owns a tile of rows.
type attentionShape struct{ size, tile, threads int }

// largestHead is the largest head dimension of the kernels.
const largestHead = 256

// mostBlocks is the most blocks of a grid in its second and in its third dimension; in the first 2^31-1 fit. A variable, so that a test can cut
// small problems.
var mostBlocks = 1<<16 - 1

func shapeOf(c kernels.Call, heads, dim int) (attentionShape, error) {
	switch {
	case heads > mostBlocks:
		return attentionShape{}, fmt.Errorf("%s: %d heads, a grid of the cuda backend has at most %d blocks in this dimension (lower model.heads)", c.Kernel(), heads, mostBlocks)
	case dim <= 32:
		return attentionShape{32, 32, 128}, nil
	case dim <= 64:
		return attentionShape{64, 32, 128}, nil
	case dim <= 128:
		return attentionShape{128, 16, 128}, nil
	case dim <= largestHead:
		return attentionShape{256, 8, 64}, nil
	}
	return attentionShape{}, fmt.Errorf("%s: a head dimension of %d, the cuda backend has kernels up to %d (take more heads, a smaller head_dim, or the device cpu)", c.Kernel(), dim, largestHead)
}

func planAttention(c kernels.Attention, _ kernels.Args, _ *scratch) (attentionShape, error) {
	return shapeOf(c, c.Heads, c.HeadDim)
}

// attributes are the arguments that the attention kernels end with.
func attributes(c kernels.Attention, documents uintptr) []any {
	return []any{documents, c.Heads, c.KVHeads, c.HeadDim, c.T, c.Window, float32(c.Scale), float32(c.Softcap)}
}

// grids cuts a call's sequences into runs that have a block of a grid's last dimension each, and calls add for every run.
func grids(t int, a kernels.Args, add func(a kernels.Args)) {
	rows, most := a.In[0].Dim(0), mostBlocks*t
	for first := 0; first < rows; first += most {
		part := func(views []kernels.View) []kernels.View {
			parts := slices.Clone(views)
			for i, v := range parts {
				parts[i] = rowsFrom(v, first)
				parts[i].Shape = append([]int{min(most, rows-first)}, v.Shape[1:]...)
			}
			return parts
		}
		add(kernels.Args{Out: part(a.Out), Aux: part(a.Aux), In: part(a.In), Saved: part(a.Saved)})
	}
}

func bindAttention(b *builder, c kernels.Attention, a kernels.Args, s attentionShape) {
	grids(c.T, a, func(a kernels.Args) { b.attention(c, s, a, a.Out[0].Dev, optional(a.Aux, 0), optional(a.In, 3)) })
}

// attention adds the forward kernel; y and lse may be 0.
func (b *builder) attention(c kernels.Attention, s attentionShape, a kernels.Args, y, lse, documents uintptr) {
	if kernels.Narrow(a) {
		b.flash(c, a, y, lse, documents)
		return
	}
	args := []any{y, lse, a.In[0], a.In[1], a.In[2]}
	b.launch(attentions, fmt.Sprint("attention_", s.size), [3]int{ceil(c.T, s.tile), c.Heads, a.In[0].Dim(0) / c.T}, s.threads, append(args, attributes(c, documents)...)...)
}

// attentionGradPlan is the workspace of a gradient: y·dy of each row and head, and the log-sum-exp when it is not given.
type attentionGradPlan struct {
	attentionShape
	dots, lse uintptr
}

func planAttentionGrad(c kernels.AttentionGrad, a kernels.Args, s *scratch) (p attentionGradPlan, err error) {
	if p.attentionShape, err = shapeOf(c, c.Heads, c.HeadDim); err != nil {
		return p, err
	}
	n := min(a.In[0].Dim(0), mostBlocks*c.T) * c.Heads
	p.dots = s.f32(n)
	if len(a.Saved) == 0 {
		p.lse = s.f32(n)
	}
	return p, nil
}

// bindAttentionGrad lets the runs of sequences take turns in the workspace.
func bindAttentionGrad(b *builder, c kernels.AttentionGrad, a kernels.Args, p attentionGradPlan) {
	grids(c.T, a, func(a kernels.Args) { b.attentionGrad(kernels.Attention(c), a, p) })
}

func (b *builder) attentionGrad(c kernels.Attention, a kernels.Args, p attentionGradPlan) {
	documents, lse := optional(a.In, 5), p.lse
	if len(a.Saved) > 0 {
		lse = a.Saved[0].Dev
	} else {
		b.attention(c, p.attentionShape, a, 0, lse, documents)
	}
	if kernels.Narrow(a) {
		b.flashGrad(c, a, lse, p.dots, documents)
		return
	}
	pairs := a.In[0].Dim(0) * c.Heads
	b.rows(attentionGrads, "attention_dots", ceil(pairs, 32), 256, p.dots, a.In[3], a.In[4], c.HeadDim, pairs)
	read := append([]any{a.In[0], a.In[1], a.In[2], a.In[4], lse, p.dots}, attributes(c, documents)...)
	tiles, sequences := ceil(c.T, p.tile), a.In[0].Dim(0)/c.T
	b.launch(attentionGrads, fmt.Sprint("attention_dq_", p.size), [3]int{tiles, c.Heads, sequences}, p.threads, append([]any{a.Out[0]}, read...)...)
	b.launch(attentionGrads, fmt.Sprint("attention_dkv_", p.size), [3]int{tiles, c.KVHeads, sequences}, p.threads, append([]any{a.Out[1], a.Out[2]}, read...)...)
}

// cachedPlan is how many blocks share the keys of one row, and the workspace of their parts.
type cachedPlan struct {
	count int
	parts uintptr
}

// cachedKeys is how many rows of a cache are worth a block, and mostParts the most blocks of a row. Results depend on both, so they do not
// depend on the GPU.
const cachedKeys, mostParts = 256, 64

func planCached(c kernels.CachedAttention, a kernels.Args, s *scratch) (p cachedPlan, err error) {
	if p.count = min(ceil(c.Context, cachedKeys), mostParts); p.count > 1 {
		p.parts = s.f32(a.In[0].Dim(0) * c.Heads * p.count * (c.HeadDim + 2))
	}
	_, err = shapeOf(c, c.Heads, c.HeadDim)
	return p, err
}

func bindCached(b *builder, c kernels.CachedAttention, a kernels.Args, p cachedPlan) {
	bad := b.bad("position", c.Context, ", the context of the cache")
	size, rows := 64, a.In[0].Dim(0)
	for size < c.HeadDim {
		size *= 2
	}
	b.launch(cached, fmt.Sprint("attention_cached_", size), [3]int{rows, c.Heads, p.count}, 128, a.Out[0], p.parts, a.In[0], a.In[1], a.In[2], a.In[3], bad,
		c.Heads, c.KVHeads, c.HeadDim, c.T, c.Context, c.Window, float32(c.Scale), float32(c.Softcap))
	if p.count > 1 {
		b.launch(cached, "cached_join", [3]int{rows, c.Heads, 1}, 128, a.Out[0], p.parts, a.In[3], c.Heads, c.HeadDim, c.Context, p.count)
	}
}
