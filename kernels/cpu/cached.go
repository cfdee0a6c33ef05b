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
	cache, fresh, position := cacheAt(a.Out[0]), a.In[1].F32(), a.In[2].I32()
	name, w := c.Kernel(), a.In[0].Dim(1)
	bytes, old := a.Out[0].Host[:a.Out[0].Bytes()], a.In[0].Host
	inPlace := len(bytes) == 0 || &bytes[0] == &old[0]
	keep := spans(len(bytes), nsElem/16., func(lo, hi int) { copy(bytes[lo:hi], old[lo:hi]) })
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
			cache.set(b.tier, (s*c.Context+p)*w, fresh[s*c.T*w:][:n])
		}
		return nil
	}
}

// fewQueries is the number of new rows of a sequence up to which their scores are dot products.
const fewQueries = 4

// cachedBlock is how many new rows are treated at once: scores of all of them are held.
const cachedBlock = 48

type cachedPlan struct {
	lanes
	dots         bool      // few new rows: scores are dot products with the keys where they lie
	halves       bool      // keys and values are bfloat16 and read where they lie
	keys, values []float32 // per lane: packed keys, packed values where they are not read in place
	widened      []float32 // per lane, of bfloat16: some rows of keys with halves, else all keys and then all values of a head
	scores       []float32 // [lane, cachedBlock, pitch(Context)]
}

func planCached(c kernels.CachedAttention, a kernels.Args, s *scratch) (p cachedPlan, err error) {
	p.dots = c.T <= fewQueries
	keys, values, scores := packedSize(s.tier.cols, c.Context, c.HeadDim), s.tier.headSize(c.Context, c.HeadDim), min(c.T, cachedBlock)*pitch(c.Context)
	if p.dots {
		keys = 0
	}
	narrow, widened := a.In[1].DType == kernels.BF16, 0
	if p.halves = narrow && p.dots && s.tier.readsHalves(c.HeadDim); p.halves {
		values, widened = 0, fetchRows*(c.HeadDim+widePad)
	} else if narrow {
		widened = 2 * c.Context * c.HeadDim
	}
	p.lanes = planLanes(a.In[0].Dim(0)/c.T*c.Heads, keys+values+widened+scores)
	p.widened = s.f32(p.count * widened)
	p.keys, p.values, p.scores = s.f32(p.count*keys), s.f32(p.count*values), s.f32(p.count*scores)
	return p, nil
}

func bindCached(b *Backend, c kernels.CachedAttention, a kernels.Args, p cachedPlan) kernels.Launch {
	y, q, k, v, position := a.Out[0].F32(), a.In[0].F32(), cacheAt(a.In[1]), cacheAt(a.In[2]), a.In[3].I32()
	name, at := c.Kernel(), 0 // at is the position of this launch
	g := geometryOf(b.tier, c.Heads, c.KVHeads, c.HeadDim, c.Scale, c.Softcap, c.Window)
	heads := p.loop(nsFLOP*4*float64(c.T*c.Context*c.HeadDim), func(lane, item int) {
		s, h := item/c.Heads, item%c.Heads
		kv := s*c.Context*g.kvWidth + g.kvHead(h)*c.HeadDim
		rows := s*c.T*g.width + h*c.HeadDim
		seen := min(at+c.T, c.Context)
		f := cachedHead{geometry: g, dots: p.dots, context: c.Context, ld: g.kvWidth, scores: p.part(p.scores, lane)}
		switch {
		case p.halves:
			f.halfKeys, f.halfValues, f.widened = k.narrow[kv:], v.narrow[kv:], p.part(p.widened, lane)
		case k.narrow != nil:
			from, wide := f.first(at)&^(spanStart-1), p.part(p.widened, lane)
			f.ld = c.HeadDim
			f.keys = f.widenedHead(wide[:len(wide)/2], k.narrow[kv:], g.kvWidth, g.dim, from, seen)
			f.values = f.widenedHead(wide[len(wide)/2:], v.narrow[kv:], g.kvWidth, g.dim, from, seen)
		default:
			f.keys, f.values = k.wide[kv:], v.wide[kv:]
		}
		if !p.halves {
			f.factors(p.part(p.keys, lane), p.part(p.values, lane), seen)
		}
		for t := 0; t < c.T; t += cachedBlock {
			f.rows(y[rows+t*g.width:], q[rows+t*g.width:], at+t, min(cachedBlock, c.T-t))
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

// fetchRows is how many rows of the cache are fetched at a time: a head's rows lie far apart, so that the processor does not see what comes next.
const fetchRows = 32

// fetch has rows from … to-1 of keys or values fetched.
func (f *cachedHead) fetch(x []float32, from, to int) {
	if from < to {
		f.tier.fetch(&x[from*f.ld], f.ld, f.dim, to-from)
	}
}

// cachedHead is the work of one head of one sequence.
type cachedHead struct {
	geometry
	dots                 bool
	context              int
	ld                   int       // from one row of keys or values to the next
	keys, values         []float32 // where they are read as float32
	turned, multiplied   factor    // keys, values
	halfKeys, halfValues []uint16  // where they are read as bfloat16, kvWidth apart
	widened              []float32
	scores               []float32
}

// factors makes the factors of products with the first rows of keys and values.
func (f *cachedHead) factors(keys, values []float32, seen int) {
	if !f.dots {
		f.turned = f.turnedFactor(keys, f.keys, f.ld, seen, f.dim)
	}
	f.multiplied = f.headFactor(values, f.values, f.ld, seen, f.dim)
}

// rows is n rows from position at on. y and q start at the first.
func (f *cachedHead) rows(y, q []float32, at, n int) {
	ld := pitch(f.context)
	hi := min(at+n, f.context)
	lo := f.first(at)
	if lo >= hi { // rows past the context whose window has left the cache
		for r := range n {
			clear(y[r*f.width:][:f.dim])
		}
		return
	}
	from := lo &^ (spanStart - 1) // where scores start
	switch {
	case f.halfKeys != nil:
		f.halfScores(q, n, ld, from, hi)
	case f.dots:
		f.wideScores(q, n, ld, from, hi)
	default:
		f.product(n, hi-from, f.dim, f.rowsA(q, f.width), f.turned.past(from), f.scores, ld, false)
	}
	for r := range n {
		f.softmax(f.scores[r*ld:][:hi-from], at+r, from, nil)
	}
	f.sums(y, n, ld, from, lo, hi)
	if n > 1 && !f.allFinite(y, f.width, n, f.dim) {
		f.ownSums(y, at, n, ld, from)
	}
}

// sums are the values from lo … hi-1, weighted by n rows of scores that start at from.
func (f *cachedHead) sums(y []float32, n, ld, from, lo, hi int) {
	if f.halfValues != nil {
		f.halfSums(y, n, ld, from, lo, hi)
		return
	}
	f.product(n, f.dim, hi-lo, f.rowsA(f.scores[lo-from:], ld), f.multiplied.after(lo), y, f.width, false)
}

// ownSums sums rows that are not finite again, each over what it sees alone: a value that is not finite and that only others see has come to them as
// well, as zero times it.
func (f *cachedHead) ownSums(y []float32, at, n, ld, from int) {
	own := *f
	for r := range n {
		row := y[r*f.width:]
		lo, hi := f.first(at+r), min(at+r+1, f.context)
		switch own.scores = f.scores[r*ld:]; {
		case f.allFinite(row, f.width, 1, f.dim):
		case lo >= hi:
			clear(row[:f.dim])
		default:
			own.sums(row, 1, ld, from, lo, hi)
		}
	}
}

// wideScores are the raw products of n rows of q with keys from … hi-1.
func (f *cachedHead) wideScores(q []float32, n, ld, from, hi int) {
	f.fetch(f.keys, from, min(from+2*fetchRows, hi))
	for j := from; j < hi; j += fetchRows {
		f.fetch(f.keys, j+2*fetchRows, min(j+3*fetchRows, hi))
		if f.readsB(f.dim) {
			f.fetch(f.values, j, min(j+fetchRows, hi))
		}
		for r := range n {
			f.tier.dots(&f.scores[r*ld+j-from], &q[r*f.width], &f.keys[j*f.ld], f.ld, f.dim, min(fetchRows, hi-j), 0)
		}
	}
}
