package cpu

import (
	"testing"
)

// TestPeakFLOPs: tiles on operands in the first cache do not beat the peak, and come near it, the portable one less so under the race detector.
func TestPeakFLOPs(t *testing.T) {
	for _, level := range tiers() {
		least := 0.6
		if level == portable {
			least = 0.3
		}
		for _, workers := range []int{1, 2} {
			b := newBackend(workers, level)
			ratio, peak := 0.0, 0.0
			for range 20 { // another program may take the processor for a while
				peak = b.PeakFLOPs()
				if ratio = b.tileFLOPs() / peak; least < ratio && ratio < 1.15 {
					break
				}
			}
			t.Logf("%s, %d workers: %.1f GFLOP/s, of which tiles reach %.2f", level.name, workers, peak/1e9, ratio)
			if !(least < ratio && ratio < 1.15) || !(1e8 < peak && peak < 1e12*float64(workers)) {
				t.Errorf("%s, %d workers: a peak of %g FLOP/s, and tiles reach %.2f of it", level.name, workers, peak, ratio)
			}
			_ = b.Close()
		}
	}
}

// tileFLOPs is the speed of the largest tile on all workers.
func (b *Backend) tileFLOPs() float64 {
	const k, runs = 256, 200
	t := b.tier
	r := source()
	x, w := floats(r, t.rows*k).F32(), floats(r, t.cols*k).F32()
	tasks := 2 * b.workers()
	c := make([][]float32, tasks)
	for i := range c {
		c[i] = make([]float32, t.rows*t.cols)
	}
	seconds := b.fastest(tasks, func(task int) {
		for range runs {
			t.inRows[t.rows](k, &x[0], k, &w[0], t.cols, &c[task][0], t.cols, t.cols, nil, nil, nil, 0, nil, 0, 0)
		}
	})
	return float64(tasks) * runs * 2 * float64(t.rows*t.cols*k) / seconds
}

// TestBandwidth: no memory is slower than 10 MB/s or faster than 10 TB/s, also where a task's part is no whole number of pages.
func TestBandwidth(t *testing.T) {
	for _, workers := range []int{1, 3} {
		b := newBackend(workers, portable)
		read, copied := b.bandwidth(8<<20 + 5)
		t.Logf("%d workers: read %.1f GB/s, copy %.1f GB/s", workers, read/1e9, copied/1e9)
		for _, v := range []float64{read, copied} {
			if !(1e7 < v && v < 1e13) {
				t.Errorf("%d workers: read %g and copied %g bytes a second", workers, read, copied)
			}
		}
		_ = b.Close()
	}
}
