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
