package cpu

import (
	"sync/atomic"
	"testing"
	"time"
)

// still stops a pool's clock, so that nothing seems to be late and its helpers stay.
func still(p *pool) *pool {
	p.now = func() time.Duration { return 0 }
	return p
}

// TestPoolTriesAndSendsAway runs loops on a clock that tasks move: 1 ms each by the caller alone, 10 ms beside a helper.
func TestPoolTriesAndSendsAway(t *testing.T) {
	p := newPool(2)
	defer p.close()
	var clock atomic.Int64
	p.now = func() time.Duration { return time.Duration(clock.Load()) }
	p.gauge.active.Store(0)
	p.gauge.until = 3 * time.Millisecond
	l := newLoop(2, 1e9, func(int) {
		if p.gauge.active.Load() == 0 {
			clock.Add(int64(time.Millisecond))
		} else {
			clock.Add(int64(10 * time.Millisecond))
		}
	})
	var at []time.Duration // when loops that were offered began
	for range 24 {
		begun, turn := p.now(), p.turn.Load()
		if p.run(l); p.turn.Load() != turn {
			at = append(at, begun)
		}
	}
	// The first trial lasts from 4 to 24 ms and costs 18; then 10 ms alone, a trial to 54, and 20 alone, after which the next begins.
	want := []time.Duration{4 * time.Millisecond, 34 * time.Millisecond, 74 * time.Millisecond}
	if len(at) < len(want) {
		t.Fatalf("tried at %v, want %v", at, want)
	}
	for i := range want {
		if at[i] != want[i] {
			t.Errorf("tried at %v, want %v", at, want)
			break
		}
	}
}

// TestPoolParksHelpersThatAreAway: one that is away does not wait for the next loop by polling, which here would never end; others do.
func TestPoolParksHelpersThatAreAway(t *testing.T) {
	p := &pool{spin: time.Hour, gauge: newGauge(2)}
	p.gauge.active.Store(1)
	h := &helper{index: 1, wake: make(chan struct{}, 1)}
	back := make(chan struct{})
	go func() { defer close(back); p.idle(h, 0) }()
	for range 10_000 {
		if h.parked.Load() {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if !h.parked.Load() {
		t.Error("a helper that is away polls for the next loop")
		p.turn.Add(1)
	}
	h.unpark()
	<-back
}

// TestPoolLeavesHelpersAway: those that are away run nothing, park and come back.
func TestPoolLeavesHelpersAway(t *testing.T) {
	p := still(newPool(3))
	defer p.close()
	var running, most atomic.Int32
	l := newLoop(30, 1e9, func(int) {
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		for range 1000 {
			running.Load()
		}
		running.Add(-1)
	})
	p.run(l)
	for _, helpers := range []int32{1, 0} {
		p.gauge.active.Store(helpers)
		p.gauge.until = time.Hour
		time.Sleep(helperSpin) // those that came before finish
		most.Store(0)
		for range 500 {
			p.run(l)
		}
		if most.Load() > helpers+1 {
			t.Errorf("%d workers ran tasks beside each other with %d helpers", most.Load(), helpers)
		}
	}
	for _, h := range p.helpers {
		for range 10_000 {
			if h.parked.Load() {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if !h.parked.Load() {
			t.Error("a helper that is away does not park")
		}
	}
	p.gauge.active.Store(2)
	var here atomic.Int32
	p.run(newLoop(3, 1e9, func(int) { // each task waits for the other two
		for here.Add(1); here.Load() < 3; {
			time.Sleep(time.Microsecond)
		}
	}))
}

// TestPoolRunsEveryTaskOnceWhileHelpersComeAndGo changes the number of helpers at any moment.
func TestPoolRunsEveryTaskOnceWhileHelpersComeAndGo(t *testing.T) {
	p := still(newPool(4))
	var stop atomic.Bool
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for i := int32(0); !stop.Load(); i++ {
			p.gauge.active.Store(i % 4)
			time.Sleep(20 * time.Microsecond)
		}
	}()
	plain := make([]int, 50)
	l := newLoop(len(plain), 1e9, func(task int) { plain[task]++ })
	for r := range 5000 {
		p.run(l)
		for i, n := range plain {
			if n != r+1 {
				t.Fatalf("run %d: task %d ran %d times", r, i, n)
			}
		}
	}
	stop.Store(true)
	<-gone
	p.close()
}

// TestPoolBearsLateHelpers: helpers that come late from an earlier run of a loop, here one that always does, claim its tasks as soon as they can.
func TestPoolBearsLateHelpers(t *testing.T) {
	p := still(newPool(2))
	l := newLoop(2, 1e9, func(int) {})
	var stop atomic.Bool
	late, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(late)
		for !stop.Load() {
			l.work()
		}
	}()
	go func() {
		defer close(done)
		for range 100_000 {
			p.run(l)
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a run never ends: it waits for a task that was claimed and finished before it was counted")
	}
	stop.Store(true)
	<-late
	p.close()
}

// TestPoolTimesNoShortLoops: a short loop reads no clock and is offered to those helpers that longer ones have.
func TestPoolTimesNoShortLoops(t *testing.T) {
	p := newPool(2)
	defer p.close()
	reads := 0
	p.now = func() time.Duration { reads++; return 0 }
	p.gauge.until = time.Hour
	for _, c := range []struct {
		ns     float64 // of each of two tasks
		active int32
		offers uint64
		reads  int
	}{
		{shortNS/2 - 1, 1, 1, 0},
		{shortNS/2 - 1, 0, 0, 0},
		{shortNS / 2, 1, 1, 2},
		{shortNS / 2, 0, 0, 2},
	} {
		var ran atomic.Int32
		p.gauge.active.Store(c.active)
		reads = 0
		turn := p.turn.Load()
		p.run(newLoop(2, c.ns, func(int) { ran.Add(1) }))
		if got := p.turn.Load() - turn; got != c.offers || reads != c.reads || ran.Load() != 2 {
			t.Errorf("2 tasks of %g ns, %d helpers: %d offers, %d clock reads, %d tasks run, want %d, %d and 2", c.ns, c.active, got, reads, ran.Load(), c.offers, c.reads)
		}
	}
}

// TestDotsOfALayerAreShort: of a small model's products with one row, only that with the vocabulary is timed.
func TestDotsOfALayerAreShort(t *testing.T) {
	b := New(2)
	defer func() { _ = b.Close() }()
	for n, short := range map[int]bool{288: true, 768: true, 32000: false} {
		l := b.dotsLoop(dotsWork{m: 1, n: n, k: 288, rowBytes: 4 * 288})
		if l.inline || (l.ns < shortNS) != short {
			t.Errorf("%d rows of 288: inline %t, %g ns, want false, short: %t", n, l.inline, l.ns, short)
		}
		if both := joint([]*loop{l, l}); both.ns < 1.999*l.ns || both.ns > 2.001*l.ns {
			t.Errorf("two products side by side take %g ns, one %g", both.ns, l.ns)
		}
	}
}
