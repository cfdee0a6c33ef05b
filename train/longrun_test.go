package train

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/cpu"
	"prenorm/train/metrics"
)

// meter is a context that takes figures of the process now and then, when the loop asks whether to go on.
type meter struct {
	context.Context
	asked, every int
	figures      map[string][]int
}

func (m *meter) Err() error {
	if m.asked++; m.asked%m.every == 0 {
		var s runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&s)
		m.figures["bytes of heap in use"] = append(m.figures["bytes of heap in use"], int(s.HeapAlloc))
		m.figures["bytes resident"] = append(m.figures["bytes resident"], int(kernels.ResidentMemory()))
		m.figures["goroutines"] = append(m.figures["goroutines"], runtime.NumGoroutine())
		if open, err := os.ReadDir("/proc/self/fd"); err == nil {
			m.figures["open files"] = append(m.figures["open files"], len(open))
		}
	}
	return nil
}

// TestLongRun trains for 20 000 steps with evaluations, samples, inspections and checkpoints, and wants memory, goroutines and open files to be at
// the end what they were after a quarter, and every measurement to be there.
func TestLongRun(t *testing.T) {
	if os.Getenv("PRENORM_SLOW") == "" {
		t.Skip("20 000 steps: PRENORM_SLOW=1 runs them")
	}
	j := tinyJob(t)
	j.Train.Accumulate, j.Train.Steps = 1, 20_000
	j.Train.Eval.Every, j.Train.Sample.Every, j.Checkpoint.Every, j.Train.Log.Every, j.Train.Inspect.Every = 200, 500, 250, 50, 400
	be := cpu.New(2)
	defer be.Close()
	m := &meter{Context: context.Background(), every: 2000, figures: map[string][]int{}}
	if _, err := Run(m, be, j); err != nil {
		t.Fatal(err)
	}
	// The progress lines that the test keeps grow, by less than the heap's share of this; pages come and go with the collector's work.
	growth := map[string]int{"bytes of heap in use": 256 << 10, "bytes resident": 8 << 20}
	for what, x := range m.figures {
		t.Logf("%s: %v", what, x)
		if first, last := x[len(x)/4], x[len(x)-1]; len(x) < 8 || last > first+growth[what] {
			t.Errorf("%s grew from %d to %d", what, first, last)
		}
	}
	records, err := metrics.Read(filepath.Join(j.Dir, MetricsFile))
	if err != nil {
		t.Fatal(err)
	}
	kinds := [4]int{}
	for _, r := range records {
		switch r.(type) {
		case metrics.Train:
			kinds[0]++
		case metrics.Eval:
			kinds[1]++
		case metrics.Sample:
			kinds[2]++
		case metrics.Inspect:
			kinds[3]++
		}
	}
	if kinds != [4]int{400, 100, 40, 51} {
		t.Errorf("%v measurements", kinds)
	}
}
