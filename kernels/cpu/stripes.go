package cpu

// stripePlan is a product whose larger factor is packed by the tasks themselves, a stripe and a block of K at a time, so that what is packed stays in
// the second cache: it is read from memory once and not written there. The other factor lies as it is or is packed once for all. Rounding is that
// of every product.
type stripePlan struct {
	lanes
	m, n, k, ldc int
	pass         int  // blocks of K that are multiplied before all tasks join
	ofA          bool // stripes are rows of A, else columns of B
	size         int  // of a stripe, whole panels
	packed, wide []float32
}

// Bounds on stripes: their number gives every core work until the end, and a packed block of one takes about half of a core's second cache. The more
// there are, the more often the other factor is read.
const (
	stripesPerWorker         = 4
	fewestStripes, mostLanes = 8, 32
	stripeRows               = 192
	stripeCols               = 256
)

// planStripes plans stripes of A[m,k], or of B of n columns. With widens the stripe has to be widened first, panel by panel.
func planStripes(m, n, k, ldc int, ofA, widens bool, s *scratch) *stripePlan {
	p := &stripePlan{m: m, n: n, k: k, ldc: ldc, ofA: ofA}
	width, all, other, most := s.tier.cols, n, m, stripeCols
	if ofA {
		width, all, other, most = s.tier.rows, m, n, stripeRows
	}
	// Every stripe reads the whole other factor. All stripes go along K together, so that what they read of it stays near.
	p.pass = min(max(1, nearFloats/(max(other, 1)*blockK)), max(1, blocks(k, blockK)))
	depth, wide := min(k, blockK), 0
	if widens {
		wide = width * depth
	}
	cut := func(count int) (floats int) {
		p.size = width * max(1, min(blocks(all, count), most)/width)
		items := blocks(all, p.size)
		p.lanes = lanes{count: min(items, mostLanes), items: items}
		return p.count * packedSize(width, p.size, depth)
	}
	floats, places := 0, 0 // enough for any number of workers
	for count := fewestStripes; count <= mostLanes; count += stripesPerWorker {
		floats, places = max(floats, cut(count)), max(places, p.count)
	}
	packed, widened := s.f32(floats), s.f32(places*wide)
	if floats = cut(min(max(fewestStripes, stripesPerWorker*s.workers), mostLanes)); s.mem != nil {
		p.packed, p.wide = packed[:floats], widened[:p.count*wide]
	}
	return p
}

// stripeSource is the factor that stripes are of.
type stripeSource struct {
	// pack packs rows of A or columns of B, from … to-1, and steps of K from at on, into f.
	pack func(f factor, wide []float32, from, to, at, depth int)
	// ahead is what pack will read, for tiles to ask for in parts; nil = unknown.
	ahead func(from, to, at, depth, parts int) ahead
}

// loops are the product, a pass each. The factor that stripes are of is empty.
func (p *stripePlan) loops(t *tier, a, b factor, y []float32, e *epilogue, accumulate bool, src stripeSource) (all []*loop) {
	for first := 0; first*blockK < p.k; first += p.pass {
		all = append(all, p.loop(t, a, b, y, e, accumulate, first, src))
	}
	return all
}

// loop is the pass that begins with a block of K.
func (p *stripePlan) loop(t *tier, a, b factor, y []float32, e *epilogue, accumulate bool, first int, src stripeSource) *loop {
	width, all, last := t.cols, p.n, min(first+p.pass, blocks(p.k, blockK))
	if p.ofA {
		width, all = t.rows, p.m
	}
	terms := float64(min(p.k, p.pass*blockK))
	return p.lanes.loop(nsFLOP*2*float64(p.m)*float64(p.n)*terms/float64(max(p.items, 1)), func(lane, item int) {
		from, to := item*p.size, min((item+1)*p.size, all)
		for block := first; block < last; block++ {
			depth := min(blockK, p.k-block*blockK)
			f := packed(p.part(p.packed, lane), width, depth)
			f.block = 0
			src.pack(f, p.part(p.wide, lane), from, to, block*blockK, depth)
			f.first = from / width
			next := p.next(t, lane, item, block, first, last, src)
			if !p.ofA {
				t.productBlock(0, p.m, from, to, p.k, block, a, f, y, p.ldc, accumulate, e, &next)
				continue
			}
			for j := 0; j < p.n; j += stripeCols {
				t.productBlock(from, to, j, min(j+stripeCols, p.n), p.k, block, f, b, y, p.ldc, accumulate, e, &next)
			}
		}
	})
}

// next is what a lane packs after a block of an item: that item's next block, or the first one of its next item.
func (p *stripePlan) next(t *tier, lane, item, block, first, last int, src stripeSource) ahead {
	if block++; block == last {
		item, block = item+1, first
	}
	if src.ahead == nil || item >= p.end(lane) {
		return ahead{}
	}
	all, parts := p.n, blocks(p.m, t.rows)*blocks(p.size, t.cols)
	if p.ofA {
		all, parts = p.m, blocks(p.size, t.rows)*blocks(p.n, t.cols)
	}
	return src.ahead(item*p.size, min((item+1)*p.size, all), block*blockK, min(blockK, p.k-block*blockK), parts)
}

// stripes is the operand in src, by stripes.
func (o operand) stripes(t *tier, src []float32) stripeSource {
	if o.byStep {
		return stripeSource{func(f factor, _ []float32, from, to, at, depth int) {
			t.packCopied(f, src[at*o.ld+from:], o.ld, to-from, 0, depth)
		}, func(from, to, at, depth, parts int) ahead {
			return aheadOf(src[at*o.ld+from:], o.ld, to-from, depth, parts)
		}}
	}
	return stripeSource{func(f factor, _ []float32, from, to, at, depth int) {
		t.packTurned(f, src[from*o.ld+at:], o.ld, to-from, depth, 0, blocks(to-from, f.width))
	}, func(from, to, at, depth, parts int) ahead {
		return aheadOf(src[from*o.ld+at:], o.ld, depth, to-from, parts)
	}}
}
