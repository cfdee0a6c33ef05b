package cpu

import (
	"fmt"

	"prenorm/kernels"
)

func init() {
	enterPlain(bindCacheWrite)
	enter(planCached, bindCached)
}

// cachePosition wants the first new row to lie inside the cache.
func cachePosition(kernel string, position []int32, context int) (int, error) {
	p := int(position[0])
	if p < 0 || p >= context {
		return 0, fmt.Errorf("%s: position %d at index 0 is outside [0, %d), the context of the cache", kernel, p, context)
	}
	return p, nil
}

func bindCacheWrite(b *Backend, c kernels.CacheWrite, a kernels.Args) kernels.Launch {
	cache, old, fresh, position := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32(), a.In[2].I32()
	name, w := c.Kernel(), a.In[0].Dim(1)
	inPlace := len(cache) == 0 || &cache[0] == &old[0]
	keep := spans(len(cache), nsElem/4., func(lo, hi int) { copy(cache[lo:hi], old[lo:hi]) })
	return func() error {
		p, err := cachePosition(name, position, c.Context)
		if err != nil {
			return err
		}
		if !inPlace {
			b.pool.run(keep)
		}
		n := min(c.T, c.Context-p) * w
		for s := range a.In[0].Dim(0) / c.Context {
			copy(cache[(s*c.Context+p)*w:][:n], fresh[s*c.T*w:])
		}
		return nil
	}
}

// cachedBlock is how many new rows a task treats: scores of all of them are held at once.
const cachedBlock = 32

type cachedPlan struct {
	lanes
	keys   []float32 // [lane, Context, pitch(D)], used where the cache is not aligned
	scores []float32 // [lane, cachedBlock, pitch(Context)]
}

func planCached(c kernels.CachedAttention, a kernels.Args, s *scratch) (p cachedPlan, err error) {
	keys, scores := c.Context*pitch(c.HeadDim), min(c.T, cachedBlock)*pitch(c.Context)
	p.lanes = planLanes(a.In[0].Dim(0)/c.T*c.Heads, keys+scores)
	p.keys, p.scores = s.f32(p.count*keys), s.f32(p.count*scores)
	return p, nil
}

func bindCached(b *Backend, c kernels.CachedAttention, a kernels.Args, p cachedPlan) kernels.Launch {
	y, q, k, v, position := a.Out[0].F32(), a.In[0].F32(), a.In[1].F32(), a.In[2].F32(), a.In[3].I32()
	name, at := c.Kernel(), 0 // at is the position of this launch
	g := geometryOf(c.Heads, c.KVHeads, c.HeadDim, c.Scale, c.Softcap, c.Window)
	heads := p.loop(nsFLOP*4*float64(c.T*c.Context*c.HeadDim), func(lane, item int) {
		s, h := item/c.Heads, item%c.Heads
		first, kv := s*c.Context*g.kvWidth, g.kvHead(h)*c.HeadDim
		rows := s * c.T * g.width
		keys, values, ldk := k[first+kv:], v[first+kv:], g.kvWidth
		seen := min(at+c.T, c.Context)
		if !aligned(keys, ldk) {
			copied := p.part(p.keys, lane)
			copyRows(copied, pitch(c.HeadDim), keys, ldk, seen, c.HeadDim)
			keys, ldk = copied, pitch(c.HeadDim)
		}
		scores := p.part(p.scores, lane)
		for t := 0; t < c.T; t += cachedBlock {
			n := min(cachedBlock, c.T-t)
			g.cachedRows(y[rows+t*g.width+h*c.HeadDim:], q[rows+t*g.width+h*c.HeadDim:], keys, ldk, values, scores, at+t, n, c.Context)
		}
	})
	return func() error {
		p, err := cachePosition(name, position, c.Context)
		if err != nil {
			return err
		}
		at = p
		b.pool.run(heads)
		return nil
	}
}

// cachedRows is one head's n rows from position at on. Values are multiplied where they lie: for the few rows of a decoding step a transposed
// copy would cost more than it gains.
func (g geometry) cachedRows(y, q, keys []float32, ldk int, values, scores []float32, at, n, context int) {
	ld := pitch(context)
	hi := min(at+n, context)
	lo := g.first(at)
	if lo >= hi { // rows past the context whose window has left the cache
		for r := range n {
			clear(y[r*g.width:][:g.dim])
		}
		return
	}
	productNT(n, hi-lo, g.dim, q, g.width, keys[lo*ldk:], ldk, scores, ld, false)
	for r := range n {
		g.softmax(scores[r*ld:][:hi-lo], at+r, lo, nil)
	}
	productNN(n, g.dim, hi-lo, scores, ld, values[lo*g.kvWidth:], g.kvWidth, y, g.width)
}
