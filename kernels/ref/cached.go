package ref

import (
	"fmt"

	"prenorm/kernels"
)

func init() {
	define(definition[kernels.CacheWrite]{f32: bindCacheWrite[float32], f64: bindCacheWrite[float64]})
	define(definition[kernels.CachedAttention]{
		f32: bindCachedAttention[float32], f64: bindCachedAttention[float64],
		workspace: func(c kernels.CachedAttention, _ kernels.Args) int { return c.Context },
	})
}

// cachePosition wants the first new row to lie inside the cache.
func cachePosition(name string, position []int32, context int) (int, error) {
	if p := int(position[0]); p >= 0 && p < context {
		return p, nil
	}
	return 0, fmt.Errorf("%s: position %d at index 0 is outside [0, %d), the context of the cache", name, position[0], context)
}

// cacheWrite sets rows position … position+T-1 of each sequence of the cache from the T rows of fresh, and drops what is past its end.
// The rest of the new cache is the old one, which may be the same memory.
func cacheWrite[F float](cache, old, fresh []F, position, width int, c kernels.CacheWrite) {
	copy(cache, old)
	for b := range len(fresh) / max(c.T*width, 1) {
		for t := range min(c.T, c.Context-position) {
			copy(row(cache, b*c.Context+position+t, width), row(fresh, b*c.T+t, width))
		}
	}
}

func bindCacheWrite[F float](c kernels.CacheWrite, v kernels.Args) kernels.Launch {
	cache, old, fresh, position := of[F](v.Out[0]), of[F](v.In[0]), of[F](v.In[1]), v.In[2].I32()
	return func() error {
		p, err := cachePosition(c.Kernel(), position, c.Context)
		if err != nil {
			return err
		}
		cacheWrite(cache, old, fresh, p, v.In[0].Dim(1), c)
		return nil
	}
}

// cachedAttention is one sequence of T new rows at position … position+T-1 against its cache. A row past the context sees the cache as
// its window leaves it, and is zero when it sees nothing.
func cachedAttention[F float](y, q []F, s *sequence[F], position int, c kernels.CachedAttention, scores []float64) {
	for t := range c.T {
		i := position + t
		for h := range c.Heads {
			at := t*c.Heads + h
			seen := scores[:min(i+1, c.Context)]
			lse := s.score(seen, row(q, at, c.HeadDim), i, h)
			s.attend(row(y, at, c.HeadDim), seen, lse, i, h)
		}
	}
}

func bindCachedAttention[F float](c kernels.CachedAttention, v kernels.Args) kernels.Launch {
	y, q, keys, values, position := of[F](v.Out[0]), of[F](v.In[0]), of[F](v.In[1]), of[F](v.In[2]), v.In[3].I32()
	scores := scratch(v.Work, c.Context)[0]
	width, cacheWidth := c.T*c.Heads*c.HeadDim, c.Context*c.KVHeads*c.HeadDim
	return func() error {
		p, err := cachePosition(c.Kernel(), position, c.Context)
		if err != nil {
			return err
		}
		for b := range v.In[0].Dim(0) / c.T {
			s := sequence[F]{
				heads: c.Heads, kvHeads: c.KVHeads, dim: c.HeadDim, scale: c.Scale, softcap: c.Softcap, window: c.Window,
				k: row(keys, b, cacheWidth), v: row(values, b, cacheWidth),
			}
			cachedAttention(row(y, b, width), row(q, b, width), &s, p, c, scores)
		}
		return nil
	}
}
