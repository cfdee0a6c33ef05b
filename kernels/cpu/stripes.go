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

// Bounds on stripes: their number gives every core work until the end, and a packed block of one takes about half of a core's second cache.
const (
	stripeCount = 16 // at least, if there are as many panels
	stripeLanes = 32
	stripeRows  = 192
	stripeCols  = 256
)

// Every stripe reads the whole other factor. One of more than farFloats comes from memory each time, unless all stripes go along K together: they then
// join after passBlocks blocks of it.
const (
	farFloats  = 1 << 22
	passBlocks = 2
)

// planStripes plans stripes of A[m,k], or of B of n columns. With widened the stripe has to be widened first, panel by panel.
func planStripes(m, n, k, ldc int, ofA, widened bool, s *scratch) *stripePlan {
	p := &stripePlan{m: m, n: n, k: k, ldc: ldc, pass: blocks(k, blockK), ofA: ofA}
	width, all, other, most := s.tier.cols, n, m, stripeCols
	if ofA {
		width, all, other, most = s.tier.rows, m, n, stripeRows
	}
	if other*k > farFloats {
		p.pass = passBlocks
	}
	p.size = width * max(1, min(blocks(all, stripeCount), most)/width)
	items, depth, wide := blocks(all, p.size), min(k, blockK), 0
	if widened {
		wide = width * depth
	}
	p.lanes = lanes{count: min(items, stripeLanes), items: items}
	p.packed, p.wide = s.f32(p.count*packedSize(width, p.size, depth)), s.f32(p.count*wide)
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
