package cpu

// panelRows is the number of rows of x up to which x Wᵀ is computed by panels of W: each is packed where it is multiplied, so that W is read from
// memory once and nothing is written there. More rows want several tasks to share a packed panel.
const panelRows = 96

// panelPlan is a product y[m,n] = x[m,k] w[n,k]ᵀ by panels of w, for more rows than dot products are for. The rounding is that of every product.
type panelPlan struct {
	lanes
	m, n, k      int
	wide, packed []float32 // a panel's rows of w where they have to be widened, and the panel, for each lane
}

func planPanels(m, n, k int, widened bool, s *scratch) panelPlan {
	p := panelPlan{m: m, n: n, k: k}
	wide, packed := 0, packedSize(s.tier.cols, s.tier.cols, k)
	if widened {
		wide = s.tier.cols * k
	}
	p.lanes = planLanes(blocks(n, s.tier.cols), wide+packed)
	p.wide, p.packed = s.f32(p.count*wide), s.f32(p.count*packed)
	return p
}

// loop is the product. rows returns rows j … j+n-1 of w, which it may put into wide.
func (p panelPlan) loop(t *tier, x, y []float32, e *epilogue, accumulate bool, rows func(wide []float32, j, n int) []float32) *loop {
	a := t.rowsA(x, p.k)
	return p.lanes.loop(nsFLOP*2*float64(p.m*t.cols*p.k), func(lane, panel int) {
		j := panel * t.cols
		n := min(t.cols, p.n-j)
		f := packed(p.part(p.packed, lane), t.cols, p.k)
		t.packTurned(f, rows(p.part(p.wide, lane), j, n), p.k, n, p.k, 0, 1)
		f.panel = 0 // there is one panel, wherever in y it belongs
		t.productAt(0, p.m, j, j+n, p.k, a, f, y, p.n, accumulate, e)
	})
}
