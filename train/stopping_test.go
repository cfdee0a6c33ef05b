package train

import (
	"context"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/cpu"
)

// watching is a backend that tells of allocations and of uploads of numbers.
type watching struct {
	kernels.Backend
	arena, upload func()
}

func (w watching) NewArena(bytes int) (kernels.Arena, error) {
	w.arena()
	return w.Backend.NewArena(bytes)
}

func (w watching) Upload(dst kernels.View, src any) error {
	if x, ok := src.([]float32); ok && len(x) > 8 {
		w.upload()
	}
	return w.Backend.Upload(dst, src)
}

// TestPreparingStops ends the context of a run while its weights are made, drawn, taken from elsewhere or brought back with the moments: what
// comes next is not begun.
func TestPreparingStops(t *testing.T) {
	source := tinyJob(t)
	source.Train.Steps, source.Train.Schedule.Warmup = 2, 1
	if _, err := finish(t, source); err != nil {
		t.Fatal(err)
	}
	from := tinyJob(t)
	from.InitFrom = source.Dir
	source.Train.Steps = 5
	for name, j := range map[string]Job{"drawn": tinyJob(t), "from elsewhere": from, "resumed": source} {
		cpus := cpu.New(1)
		defer cpus.Close()
		total := 0
		count := func() { total++ }
		l := &loop{Job: j, be: watching{cpus, func() {}, count}}
		if _, _, err := l.assemble(context.Background()); err != nil {
			t.Fatal(err)
		}
		tensors := len(l.weights.All())
		l.close()
		if want := tensors; total < want || name == "resumed" && total < 3*want {
			t.Fatalf("%s: %d uploads of %d tensors: the test looks at the wrong place", name, total, tensors)
		}
		for _, at := range []int{0, 1, tensors - 1, tensors, tensors + 1, 2*tensors + 1, total - 1} { // 0: when the memory of the weights is taken
			if at >= total {
				continue
			}
			ctx, cancel := context.WithCancel(context.Background())
			uploads, arenas, after := 0, 0, 0
			be := watching{cpus, func() {
				if ctx.Err() != nil {
					after++
				} else if arenas++; at == 0 {
					cancel()
				}
			}, func() {
				if ctx.Err() != nil {
					after++
				} else if uploads++; uploads == at {
					cancel()
				}
			}}
			o, err := Run(ctx, be, j)
			if err != nil || o.Stopped != "interrupted" || o.Checkpoint != "" || after > 0 {
				t.Errorf("%s, stopped at upload %d: %+v, %v; %d uploads and allocations after it", name, at, o, err, after)
			}
			cancel()
		}
	}
}
