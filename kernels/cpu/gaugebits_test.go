package cpu

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"prenorm/kernels"
)

// TestHelpersComeAndGoWithoutChangingBits runs calls that were bound once, while their helper is sent away and comes back: the bits are those of
// one worker. The clock moves when it is read, by 2 ms while the helper is away and by a second beside it, which no loop should take.
func TestHelpersComeAndGoWithoutChangingBits(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for _, p := range []problem{
		{call: kernels.MatMul{TransB: true}, in: []kernels.View{floats(r, 300, 70), floats(r, 130, 70)}},
		{call: kernels.Attention{Heads: 4, KVHeads: 4, HeadDim: 32, T: 128, Scale: 0.18}, in: []kernels.View{floats(r, 512, 128), floats(r, 512, 128), floats(r, 512, 128)}},
		{call: kernels.SumRows{}, in: []kernels.View{floats(r, 20_000, 33)}},
	} {
		single := New(1)
		want, err := launch(single, p.call, p.in)
		if err != nil {
			t.Fatal(err)
		}
		_ = single.Close()
		for _, workers := range []int{2, 3} {
			comeAndGo(t, p, workers, want)
		}
	}
}

func comeAndGo(t *testing.T, p problem, workers int, want []kernels.View) {
	t.Helper()
	b := New(workers)
	defer func() { _ = b.Close() }()
	g, clock := b.pool.gauge, time.Duration(0)
	b.pool.now = func() time.Duration {
		if clock += 2 * time.Millisecond; int(g.active.Load()) == g.helpers {
			clock += time.Second
		}
		return clock
	}
	g.active.Store(int32(workers - 2))
	g.until = 40 * time.Millisecond // after every loop has been run without the helper
	a, err := args(b, p.call, p.in)
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.Bind(p.call, a)
	if err != nil {
		t.Fatal(err)
	}
	away, back := 0, 0
	for i := range 100 {
		for _, v := range append(a.Out, a.Aux...) {
			copy(v.Host, garbage(v.Bytes()))
		}
		before, pause := clock, g.pause
		if err := run(); err != nil {
			t.Fatal(err)
		}
		if clock-before > time.Second { // a loop was offered to all
			back++
		}
		if g.pause != pause {
			away++
		}
		for o, v := range append(a.Out, a.Aux...) {
			if !bytes.Equal(v.Host, want[o].Host) {
				t.Fatalf("%s, %d workers, run %d: output %d has not the bits of one worker", p.call.Kernel(), workers, i, o)
			}
		}
	}
	if away < 3 || back < 3 {
		t.Errorf("%s, %d workers: a helper went %d times and came %d times in 100 runs, want at least 3", p.call.Kernel(), workers, away, back)
	}
}
