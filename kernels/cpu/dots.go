package cpu

// dotRows is the number of rows of x up to which x Wᵀ is computed by dot products: they read W where it lies, and packing it first would
// cost more than multiplying. A row of the product does not depend on how many there are.
const dotRows = 8

// dotGroup is how many rows of W are multiplied by all rows of x, where these are several, before the next: they stay in the first cache.
const dotGroup = 8

// How dot products are cut into tasks. A task reads its rows of W in one stream, which memory serves best when it is long, and there are to be
// few that others wait for.
const (
	dotsTask     = 256 << 10 // bytes of W at most, or little more
	dotsEach     = 2         // tasks for each worker at least
	dotsStep     = 8         // rows of W
	nsByte       = 0.05      // of W
	dotsInlineNS = 3_000     // shorter products are the caller's alone: helpers spin while a token is computed, so that a join costs less than elsewhere
)

// dotsWork is a product y[m,n] = x[m,k] w[n,k]ᵀ of few rows, whose rows of w take so many bytes, with an epilogue unless that is nil. dots computes
// the sums of row i of x with rows of w from j on; it is not called where k is 0.
type dotsWork struct {
	m, n, k, rowBytes int
	y                 []float32
	e                 *epilogue
	accumulate        bool
	dots              func(i, j, rows int)
}

// dotsLoop is the loop over rows of the matrix, each read once from memory. How they are cut depends on the number of workers; what is written
// does not.
func (b *Backend) dotsLoop(w dotsWork) *loop {
	workers, size := b.workers(), w.n*w.rowBytes
	tasks := workers * max(dotsEach, blocks(size, dotsTask*workers)) // as many for each
	per := dotsStep * max(1, blocks(w.n, tasks*dotsStep))
	tasks = blocks(w.n, per)
	// Workers mostly take turns in claiming, so that this has each of them go through a stretch of its own.
	stretch := blocks(tasks, workers)
	ns := nsByte * float64(size)
	l := newLoop(stretch*workers, ns/float64(stretch*workers), func(task int) {
		if from := (task%workers*stretch + task/workers) * per; from < w.n {
			w.rows(b.tier, from, min(from+per, w.n))
		}
	})
	l.inline = tasks < 2 || ns < dotsInlineNS
	return l
}

// rows finishes columns from … to-1 of y.
func (w *dotsWork) rows(t *tier, from, to int) {
	group := to - from
	if w.m > 1 {
		group = dotGroup
	}
	for at := from; w.k > 0 && at < to; at += group {
		for i := range w.m {
			w.dots(i, at, min(group, to-at))
		}
	}
	sums := w.e.sums(w.y)
	for i := 0; w.k == 0 && !w.accumulate && i < w.m; i++ {
		clear(sums[i*w.n+from : i*w.n+to])
	}
	w.e.finish(t, w.y, 0, w.m, from, to)
}
