package cpu

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"prenorm/kernels"
)

// TestPasses wants the bits of a product whose stripes go along K alone also where they join after one block of K, or two, whatever is added to
// the product.
func TestPasses(t *testing.T) {
	const m, n, k = 70, 130, 3*blockK + 5
	r := rand.New(rand.NewPCG(21, 22))
	x, w, before, bias, residual := noise(r, m, k), noise(r, n, k), noise(r, m, n), noise(r, n).F32(), noise(r, m, n).F32()
	for name, c := range map[string]struct {
		accumulate bool
		added      func(y []float32) *epilogue
	}{
		"alone":             {false, func([]float32) *epilogue { return nil }},
		"accumulated":       {true, func([]float32) *epilogue { return nil }},
		"bias":              {false, func([]float32) *epilogue { return &epilogue{bias: bias, n: n} }},
		"residual":          {false, func([]float32) *epilogue { return &epilogue{residual: residual, n: n} }},
		"bias and residual": {false, func([]float32) *epilogue { return &epilogue{bias: bias, residual: residual, n: n} }},
		"both, accumulated": {true, func([]float32) *epilogue { return &epilogue{bias: bias, residual: residual, n: n} }},
		"residual in its own": {false, func(y []float32) *epilogue {
			return &epilogue{bias: bias, residual: y, partial: make([]float32, m*n), n: n}
		}},
	} {
		everyBackend(t, func(t *testing.T, b *Backend) {
			var want []byte
			for _, pass := range []int{4, 1, 2} {
				plan := func(s *scratch) productPlan {
					return planProduct(b.tier.operandA(m, k, k, false), b.tier.operandB(n, k, k, false), n, s)
				}
				size := &scratch{tier: b.tier}
				plan(size)
				p := plan(&scratch{tier: b.tier, mem: garbage(size.bytes())})
				if p.stripes == nil || p.stripes.pass != 4 {
					t.Fatalf("stripes %+v, want four blocks of K in one pass", p.stripes)
				}
				p.stripes.pass = pass
				y := clone(before)
				b.pool.runAll(p.loops(b.tier, x.F32(), w.F32(), y.F32(), c.accumulate, c.added(y.F32())))
				if want == nil {
					want = y.Host
				}
				if !bytes.Equal(y.Host, want) {
					t.Errorf("%s, %d workers, passes of %d blocks: other bits than in one pass", name, b.workers(), pass)
				}
			}
		})
	}
}

// TestStripesOfRows wants a product whose A is packed by stripes, and whose columns these take in several parts, to have the bits of products of some of
// the columns each, which begin and end elsewhere.
func TestStripesOfRows(t *testing.T) {
	const m, n, k = 345, stripeCols + 40, 2*blockK + 5
	r := rand.New(rand.NewPCG(23, 24))
	x, w, before := noise(r, k, m), noise(r, n, k), noise(r, m, n)
	everyBackend(t, func(t *testing.T, b *Backend) {
		c := kernels.MatMul{TransA: true, TransB: true, Accumulate: true}
		y := clone(before)
		a := kernels.Args{Out: []kernels.View{y}, In: []kernels.View{x, w}}
		if p, err := planMatMul(c, a, &scratch{tier: b.tier, workers: b.workers()}); err != nil || p.stripes == nil || !p.stripes.ofA {
			t.Fatalf("stripes %+v, want them to be rows of A, %v", p.stripes, err)
		}
		must(t, b, c, a)
		for from := 0; from < n; from += 150 {
			to := min(from+150, n)
			part := kernels.HostView(make([]float32, m*(to-from)), m, to-from)
			for i := range m {
				copy(part.F32()[i*(to-from):], before.F32()[i*n+from:i*n+to])
			}
			must(t, b, c, kernels.Args{Out: []kernels.View{part}, In: []kernels.View{x, kernels.HostView(w.F32()[from*k:to*k], to-from, k)}})
			for i := range m {
				if !slices.Equal(y.F32()[i*n+from:i*n+to], part.F32()[i*(to-from):][:to-from]) {
					t.Fatalf("%d workers: row %d has other bits in columns %d … %d than in a product of these alone", b.workers(), i, from, to-1)
				}
			}
		}
	})
}

// TestFarFactor wants passes where what every stripe reads of the other factor would not stay near, and one pass elsewhere.
func TestFarFactor(t *testing.T) {
	s := &scratch{tier: portable}
	for _, c := range []struct{ m, n, k, pass int }{
		{256, 768, 50257, 2}, // 51 MB that every stripe reads
		{256, 768, 3072, 2},
		{1024, 2304, 768, 1},
		{170, 50257, 1536, 4},
		{12, 4096, 384, 1},
	} {
		if p := planStripes(c.m, c.n, c.k, c.n, false, false, s); p.pass != c.pass {
			t.Errorf("%d x %d x %d: passes of %d blocks, want %d", c.m, c.n, c.k, p.pass, c.pass)
		}
	}
}

// TestStripesOfWorkers wants at least four stripes for each worker where there are as many panels, and the same workspace for all.
func TestStripesOfWorkers(t *testing.T) {
	for _, c := range []struct {
		m, n, k      int
		ofA, widened bool
	}{{1024, 3072, 768, false, false}, {3072, 768, 1024, true, false}, {256, 50257, 768, false, true}, {300, 130, 500, false, false}, {20, 7, 9, true, true}, {1, 1, 0, false, false}} {
		for _, level := range tiers() {
			bytes := 0
			for _, workers := range []int{1, 2, 3, 4, 6, 8, 16, 64} {
				s := &scratch{tier: level, workers: workers}
				p := planStripes(c.m, c.n, c.k, c.n, c.ofA, c.widened, s)
				all, width := c.n, level.cols
				if c.ofA {
					all, width = c.m, level.rows
				}
				if want := min(stripesPerWorker*workers, mostLanes, blocks(all, width)); p.items < want {
					t.Errorf("%+v, %s, %d workers: %d stripes, want %d", c, level.name, workers, p.items, want)
				}
				if workers == 1 {
					bytes = s.bytes()
				}
				if s.bytes() != bytes {
					t.Errorf("%+v, %s, %d workers: workspace of %d bytes, with one worker %d", c, level.name, workers, s.bytes(), bytes)
				}
			}
		}
	}
}

// TestAhead wants every cache line of what is packed next to be asked for, once, by as many tiles as there are, and nothing outside of its rows.
func TestAhead(t *testing.T) {
	for _, s := range []struct{ n, rows, parts int }{{384, 192, 176}, {32, 384, 22}, {1, 1, 5}, {70, 3, 1}, {0, 4, 2}, {33, 7, 100}, {384, 192, 0}} {
		const ld = 500
		x := make([]float32, s.rows*ld)
		a, asked := aheadOf(x, ld, s.n, s.rows, s.parts), map[[2]int]int{}
		tiles := 0
		for ; tiles <= 10*s.rows*(1+s.n/pair); tiles++ {
			next, step, rows := a.part()
			if rows == 0 {
				break
			}
			for i := range rows {
				at := indexOf(x, next) + i*step
				asked[[2]int{at / ld, at % ld}]++
			}
		}
		// A part ends with the rows of a pair of lines, so that there may be one more for each pair.
		if most := max(s.parts, 1) + blocks(s.n, pair); tiles > most {
			t.Errorf("%+v: %d tiles ask, want at most %d", s, tiles, most)
		}
		if len(asked) != s.rows*blocks(s.n, pair) {
			t.Errorf("%+v: %d pairs of lines are asked for, want %d", s, len(asked), s.rows*blocks(s.n, pair))
		}
		for at, times := range asked {
			if times != 1 || at[1] >= s.n || at[1]%pair != 0 {
				t.Errorf("%+v: row %d from element %d on is asked for %d times", s, at[0], at[1], times)
			}
		}
	}
	if next, _, rows := (*ahead)(nil).part(); next != nil || rows != 0 {
		t.Error("nothing ahead asks for memory")
	}
}

// indexOf is where in x the element p is.
func indexOf(x []float32, p *float32) int {
	for i := range x {
		if &x[i] == p {
			return i
		}
	}
	return -1
}

// TestHeadHoldsNoCopy wants the head's workspace to hold a chunk of logits and what its tasks pack, and no copy of W, nor anything for a last
// chunk of fewer rows, which comes after the others.
func TestHeadHoldsNoCopy(t *testing.T) {
	const chunk, width, vocab = 256, 768, 50257
	f := func(shape ...int) kernels.View { return kernels.Shaped(kernels.F32, shape...) }
	for _, level := range tiers() {
		b := newBackend(1, level)
		for _, gradients := range []bool{false, true} {
			whole := 0
			for _, rows := range []int{chunk, chunk + 44} {
				in := []kernels.View{f(rows, width), f(vocab, width), kernels.Shaped(kernels.I32, rows), f(1)}
				var call kernels.Call = kernels.LinearCrossEntropy{}
				if gradients {
					call, in = kernels.LinearCrossEntropyGrad{}, append(in, f())
				}
				out, aux, err := call.Infer(in)
				if err != nil {
					t.Fatal(err)
				}
				n, err := b.Workspace(call, kernels.Args{Out: out, Aux: aux, In: in})
				if logits, packed := chunk*4*pitch(vocab), 24<<20; err != nil || n > logits+packed {
					t.Errorf("%s, %s: workspace of %d bytes for %d rows, want at most %d for logits and %d besides (W is %d; %v)", level.name, call.Kernel(), n, rows, logits, packed, in[1].Bytes(), err)
				}
				if rows == chunk {
					whole = n
				} else if n > whole {
					t.Errorf("%s, %s: workspace of %d bytes for %d rows, want no more than the %d of a chunk", level.name, call.Kernel(), n, rows, whole)
				}
			}
		}
		_ = b.Close()
	}
}
