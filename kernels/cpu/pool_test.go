package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestPoolRunsEveryTaskOnce runs loops many times in a row, so that helpers arrive late from earlier runs, with pauses in which they park.
func TestPoolRunsEveryTaskOnce(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 8} {
		p := newPool(workers)
		for _, n := range []int{0, 1, 2, 7, 100} {
			counts := make([]atomic.Int32, n)
			plain := make([]int, n) // written without atomics: the race detector sees whether runs are ordered
			l := newLoop(n, 1e9, func(task int) { counts[task].Add(1); plain[task]++ })
			const runs = 200
			for r := range runs {
				p.run(l)
				for i := range counts {
					if got := counts[i].Load(); got != int32(r+1) || plain[i] != r+1 {
						t.Fatalf("%d workers, %d tasks, run %d: task %d ran %d times", workers, n, r, i, got)
					}
				}
				if r%100 == 99 {
					time.Sleep(2 * helperSpin)
				}
			}
		}
		p.close()
	}
}

// TestPoolFinishesWithoutHelpers holds the only helper inside a task of another loop: the caller must do everything itself.
func TestPoolFinishesWithoutHelpers(t *testing.T) {
	p := still(newPool(2))
	defer p.close()
	var held, busy sync.WaitGroup
	held.Add(2)
	release := make(chan struct{})
	hold := newLoop(2, 1e9, func(int) { held.Done(); <-release })
	busy.Go(func() { p.run(hold) })
	held.Wait() // both workers of that loop, its caller and the helper
	ran := 0
	p.run(newLoop(50, 1e9, func(int) { ran++ }))
	if ran != 50 {
		t.Errorf("%d tasks ran, want 50", ran)
	}
	close(release)
	busy.Wait()
}

// TestPoolServesSeveralCallers runs different loops from several goroutines at once.
func TestPoolServesSeveralCallers(t *testing.T) {
	p := newPool(3)
	defer p.close()
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			var sum atomic.Int64
			l := newLoop(20, 1e9, func(task int) { sum.Add(int64(task)) })
			for range 100 {
				p.run(l)
			}
			if got := sum.Load(); got != 100*190 {
				t.Errorf("tasks add up to %d, want %d", got, 100*190)
			}
		})
	}
	callers.Wait()
}

func TestPoolHelps(t *testing.T) {
	p := still(newPool(2))
	defer p.close()
	meet := make(chan struct{})
	l := newLoop(2, 1e9, func(task int) { // each task waits for the other: one worker alone would never finish
		if task == 0 {
			meet <- struct{}{}
		} else {
			<-meet
		}
	})
	for range 20 {
		p.run(l)
	}
}

// TestPoolWaitsForClaimedTasks: the helper's task takes long enough for the caller to park.
func TestPoolWaitsForClaimedTasks(t *testing.T) {
	p := still(newPool(2))
	defer p.close()
	begun := make(chan struct{})
	finished := false
	l := newLoop(2, 1e9, func(task int) { // the caller, who is first, mostly gets task 0
		if task == 0 {
			<-begun
			return
		}
		begun <- struct{}{}
		time.Sleep(20 * joinSpin)
		finished = true
	})
	for range 20 {
		finished = false
		p.run(l)
		if !finished {
			t.Fatal("run returned before a claimed task had finished")
		}
	}
}

func TestPoolCloseStopsHelpers(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		p := newPool(4)
		p.run(newLoop(10, 1e9, func(int) {}))
		p.close()
		p.close()
	}
	after := runtime.NumGoroutine()
	for range 1000 { // a goroutine counts until a moment after its last statement
		if after <= before {
			return
		}
		time.Sleep(time.Millisecond)
		after = runtime.NumGoroutine()
	}
	t.Errorf("%d goroutines before, %d after closing", before, after)
}

func TestPoolRunAllocatesNothing(t *testing.T) {
	p := newPool(2)
	defer p.close()
	l := newLoop(16, 1e9, func(int) {})
	if n := testing.AllocsPerRun(100, func() { p.run(l) }); n != 0 {
		t.Errorf("%g allocations a run", n)
	}
}

// TestRunForgetsLoop: a pool that kept the last loop would keep the arena of a program that is gone.
func TestRunForgetsLoop(t *testing.T) {
	p := newPool(2)
	defer p.close()
	p.run(newLoop(16, 1e9, func(int) {}))
	if p.job.Load() != nil {
		t.Error("the pool still holds the loop")
	}
}
