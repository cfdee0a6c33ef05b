package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Times of waiting. A helper that parked comes back some 100 µs late, about as long as a kernel takes, so between the kernels of a step
// helpers spin. A caller at a join waits for the rest of a task that a helper has begun; when that takes longer than a task should, the
// helper's thread has lost its core, and parking gives it the caller's.
const (
	helperSpin = 200 * time.Microsecond
	joinSpin   = 50 * time.Microsecond
	inlineNS   = 10_000 // loops shorter than this are run by the caller alone
	shortNS    = 50_000 // loops shorter than this go by what the gauge learns from others: a token is many of 5 to 20 µs
)

// pool runs loops over persistent helpers. The caller of run is a worker too, and the only one that a loop needs: helpers claim tasks if they
// come in time, and the caller waits only for tasks that were claimed.
type pool struct {
	job     atomic.Pointer[loop]
	turn    atomic.Uint64 // incremented for every job offered
	closed  atomic.Bool
	helpers []*helper
	gauge   *gauge
	now     func() time.Duration // since the pool was made
	spin    time.Duration        // that a helper polls for the next job before it parks
	done    sync.WaitGroup
}

type helper struct {
	index  int // it helps while the gauge has more helpers than this
	parked atomic.Bool
	wake   chan struct{}
	_      [32]byte // its own cache line
}

// loop is a parallel for over tasks 0 … n-1, made once when a call is bound and run at every launch.
type loop struct {
	fn     func(task int)
	n      int64
	ns     float64 // that the tasks take one after the other, reckoned
	inline bool
	_      [32]byte
	next   atomic.Int64 // the first task not claimed
	_      [56]byte
	left   atomic.Int64 // tasks not finished
	parked atomic.Bool  // the caller sleeps until left is 0
	wake   chan struct{}
	unit   unit
}

// newLoop makes a loop of n tasks that take about ns nanoseconds each.
func newLoop(n int, ns float64, fn func(task int)) *loop {
	ns *= float64(n)
	l := &loop{fn: fn, n: int64(n), ns: ns, inline: n < 2 || ns < inlineNS, wake: make(chan struct{}, 1)}
	l.next.Store(l.n) // nothing to claim before the first run
	return l
}

func newPool(workers int) *pool {
	made := time.Now()
	p := &pool{
		gauge: newGauge(max(workers-1, 0)),
		now:   func() time.Duration { return time.Since(made) },
	}
	if workers <= runtime.GOMAXPROCS(0) {
		p.spin = helperSpin
	}
	for i := range workers - 1 {
		h := &helper{index: i, wake: make(chan struct{}, 1)}
		p.helpers = append(p.helpers, h)
		p.done.Add(1)
		go p.serve(h)
	}
	return p
}

// run executes every task of l and returns when all are finished. Tasks run in any order and at the same time. It allocates nothing. One loop
// must not be run twice at the same time; different loops may.
func (p *pool) run(l *loop) {
	if l.inline || len(p.helpers) == 0 {
		l.alone()
		return
	}
	if l.ns < shortNS {
		p.share(l, int(p.gauge.active.Load()))
		return
	}
	begun := p.now()
	helpers := p.gauge.at(begun)
	ran := p.share(l, helpers)
	ended := p.now()
	if helpers > 0 {
		p.gauge.note(helpers, l.unit.gain(l.n, helpers, ended-begun), ended)
	}
	l.unit.learn(ran, l.n, ended-begun)
}

// share runs every task of l with so many helpers and says how many the caller ran.
func (p *pool) share(l *loop, helpers int) (ran int64) {
	if helpers == 0 {
		l.alone()
		return l.n
	}
	// A helper that comes late from an earlier run of l may claim a task as soon as next is reset, hence the order.
	l.left.Store(l.n)
	l.next.Store(0)
	p.offer(l, helpers)
	ran = l.work()
	l.join()
	p.job.CompareAndSwap(l, nil) // or the pool would keep the loop's memory alive
	return ran
}

// alone runs every task on the caller.
func (l *loop) alone() {
	for t := range int(l.n) {
		l.fn(t)
	}
}

// runAll runs loops one after the other.
func (p *pool) runAll(all []*loop) {
	for _, l := range all {
		p.run(l)
	}
}

func (p *pool) offer(l *loop, helpers int) {
	p.job.Store(l)
	p.turn.Add(1)
	for i, h := range p.helpers[:helpers] {
		if int64(i) >= l.n-1 {
			return
		}
		h.unpark()
	}
}

func (h *helper) unpark() {
	if h.parked.CompareAndSwap(true, false) {
		h.wake <- struct{}{}
	}
}

// work claims and runs tasks until none is left, and says how many it ran.
func (l *loop) work() (ran int64) {
	for ; ; ran++ {
		t := l.next.Add(1) - 1
		if t >= l.n {
			return ran
		}
		l.fn(int(t))
		if l.left.Add(-1) == 0 && l.parked.CompareAndSwap(true, false) {
			l.wake <- struct{}{}
		}
	}
}

// join waits for the claimed tasks. A helper that was held up since an earlier run may wake the caller too early, so it looks again.
func (l *loop) join() {
	for l.left.Load() > 0 {
		if spinUntil(joinSpin, func() bool { return l.left.Load() == 0 }) {
			return
		}
		l.parked.Store(true)
		if l.left.Load() == 0 && l.parked.CompareAndSwap(true, false) {
			return
		}
		<-l.wake
	}
}

// serve is a helper's life.
func (p *pool) serve(h *helper) {
	defer p.done.Done()
	var seen uint64
	for {
		for seen == p.turn.Load() {
			p.idle(h, seen)
		}
		seen = p.turn.Load()
		if p.closed.Load() {
			return
		}
		if l := p.job.Load(); l != nil {
			l.work()
		}
	}
}

// idle returns when a job may have come after the turn seen. A helper that is away parks at once: while it polled, it would see, and take part in,
// every loop that is offered to the others.
func (p *pool) idle(h *helper, seen uint64) {
	if h.index < int(p.gauge.active.Load()) && spinUntil(p.spin, func() bool { return p.turn.Load() != seen }) {
		return
	}
	h.parked.Store(true)
	if p.turn.Load() != seen && h.parked.CompareAndSwap(true, false) {
		return
	}
	<-h.wake
}

// spinUntil polls for at most about d and says whether cond came true. It lets other goroutines of the process run.
func spinUntil(d time.Duration, cond func() bool) bool {
	var start time.Time
	for {
		for range 100 {
			if cond() {
				return true
			}
		}
		if start.IsZero() {
			start = time.Now()
		} else if time.Since(start) > d {
			return false
		}
		runtime.Gosched()
	}
}

// close stops the helpers and waits until they are gone.
func (p *pool) close() {
	if p.closed.Swap(true) {
		return
	}
	p.turn.Add(1)
	for _, h := range p.helpers {
		h.unpark()
	}
	p.done.Wait()
}
