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
	stripeCount = 16
	stripeRows  = 192
	stripeCols  = 256
)

// planStripes plans stripes of A[m,k], or of B of n columns. With widened the stripe has to be widened first, panel by panel.
func planStripes(m, n, k, ldc int, ofA, widened bool, s *scratch) *stripePlan {
	p := &stripePlan{m: m, n: n, k: k, ldc: ldc, pass: blocks(k, blockK), ofA: ofA}
	width, all, most := s.tier.cols, n, stripeCols
	if ofA {
		width, all, most = s.tier.rows, m, stripeRows
	}
	p.size = width * max(1, min(blocks(all, stripeCount), most)/width)
	items, depth, wide := blocks(all, p.size), min(k, blockK), 0
	if widened {
		wide = width * depth
	}
	p.lanes = lanes{count: min(items, stripeCount), items: items}
	p.packed, p.wide = s.f32(p.count*packedSize(width, p.size, depth)), s.f32(p.count*wide)
	return p
}

// loops are the product, a pass each. pack packs rows of A or columns of B, from … to-1, and steps of K from at on, into f.
func (p *stripePlan) loops(t *tier, a, b factor, y []float32, e *epilogue, accumulate bool, pack func(f factor, wide []float32, from, to, at, depth int)) (all []*loop) {
	for first := 0; first*blockK < p.k; first += p.pass {
		all = append(all, p.loop(t, a, b, y, e, accumulate, first, pack))
	}
	return all
}

// loop is the pass that begins with a block of K.
func (p *stripePlan) loop(t *tier, a, b factor, y []float32, e *epilogue, accumulate bool, first int, pack func(f factor, wide []float32, from, to, at, depth int)) *loop {
	width, last := t.cols, min(first+p.pass, blocks(p.k, blockK))
	if p.ofA {
		width = t.rows
	}
	terms := float64(min(p.k, p.pass*blockK))
	return p.lanes.loop(nsFLOP*2*float64(p.m)*float64(p.n)*terms/float64(max(p.items, 1)), func(lane, item int) {
		from := item * p.size
		for block := first; block < last; block++ {
			depth := min(blockK, p.k-block*blockK)
			f := packed(p.part(p.packed, lane), width, depth)
			f.block = 0
			if p.ofA {
				to := min(from+p.size, p.m)
				pack(f, nil, from, to, block*blockK, depth)
				f.first = from / width
				for j := 0; j < p.n; j += stripeCols {
					t.productBlock(from, to, j, min(j+stripeCols, p.n), p.k, block, f, b, y, p.ldc, accumulate, e)
				}
				continue
			}
			to := min(from+p.size, p.n)
			pack(f, p.part(p.wide, lane), from, to, block*blockK, depth)
			f.first = from / width
			t.productBlock(0, p.m, from, to, p.k, block, a, f, y, p.ldc, accumulate, e)
		}
	})
}

// packStripe is the pack of an operand in src.
func (o operand) packStripe(t *tier, src []float32) func(f factor, wide []float32, from, to, at, depth int) {
	if o.byStep {
		return func(f factor, _ []float32, from, to, at, depth int) {
			t.packCopied(f, src[at*o.ld+from:], o.ld, to-from, 0, depth)
		}
	}
	return func(f factor, _ []float32, from, to, at, depth int) {
		t.packTurned(f, src[from*o.ld+at:], o.ld, to-from, depth, 0, blocks(to-from, f.width))
	}
}
