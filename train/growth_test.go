package train

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"prenorm/kernels/cpu"
)

// probe is a context that looks at the process's memory now and then, when the loop asks whether to go on.
type probe struct {
	context.Context
	asked, every int
	heap         []uint64
	goroutines   []int
}

func (p *probe) Err() error {
	if p.asked++; p.asked%p.every == 0 {
		p.settle()
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		p.heap = append(p.heap, m.HeapAlloc)
		p.goroutines = append(p.goroutines, runtime.NumGoroutine())
	}
	return nil
}

// settle waits for a checkpoint that is being written, however long the disk takes, and then, but not for ever, until there are as few goroutines as
// there were before.
func (p *probe) settle() {
	stacks := make([]byte, 1<<20)
	for bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("checkpoint.(*Saver)")) {
		time.Sleep(10 * time.Millisecond)
	}
	for range 200 {
		if len(p.goroutines) == 0 || runtime.NumGoroutine() <= slices.Min(p.goroutines) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestNothingGrows trains for many steps, with evaluations, samples and checkpoints on the way, and wants the memory in use and the number
// of goroutines to stay where they were half way. PRENORM_SLOW=1 takes 2000 steps.
func TestNothingGrows(t *testing.T) {
	j := tinyJob(t)
	j.Train.Accumulate, j.Train.Steps = 1, 240
	if os.Getenv("PRENORM_SLOW") != "" {
		j.Train.Steps = 2000
	}
	j.Train.Eval.Every, j.Train.Sample.Every, j.Checkpoint.Every, j.Train.Log.Every = 20, 30, 50, 40
	be := cpu.New(2)
	defer be.Close()
	p := &probe{Context: context.Background(), every: j.Train.Steps / 4}
	if _, err := Run(p, be, j); err != nil {
		t.Fatal(err)
	}
	first, last := p.heap[len(p.heap)/2], p.heap[len(p.heap)-1]
	t.Logf("heap in use %v bytes, goroutines %v", p.heap, p.goroutines)
	// The progress lines that the test keeps grow, by less than this.
	if len(p.heap) < 4 || last > first+64<<10 {
		t.Errorf("heap in use grew from %d to %d bytes", first, last)
	}
	if g := p.goroutines; g[len(g)-1] > g[len(g)/2] {
		t.Errorf("goroutines grew: %v", g)
	}
}
