package cpu

import (
	"bytes"
	"time"

	"prenorm/kernels"
)

// What a machine reaches at most is taken from the fastest of several short runs: whatever else it does only slows one down.
const (
	probeRuns = 10
	probeTime = 2 * time.Millisecond // of a task
)

// PeakFLOPs is the number of floating-point operations a second that all workers together reach when they do nothing but multiply-adds in
// registers, each of them two operations: what the GFLOP/s of products are to be held against. It takes a tenth of a second.
func (b *Backend) PeakFLOPs() float64 {
	n := 1000
	for timed(func() { b.tier.multiplyAdds(n) }) < probeTime {
		n *= 2
	}
	tasks := 2 * b.workers()
	perTask := 2 * float64(n*b.tier.rows*b.tier.cols)
	return float64(tasks) * perTask / b.fastest(tasks, func(int) { b.tier.multiplyAdds(n) })
}

// probeBytes is the size of the arrays of [Backend.Bandwidth], beyond the caches of any processor that a training run is likely to have for
// itself.
const probeBytes = 256 << 20

// Bandwidth is the number of bytes a second that all workers together read from memory, and the number that they read and write when they copy.
// It takes 512 MiB of memory for the time of the call, which is about a second; where there are none, both numbers are 0.
func (b *Backend) Bandwidth() (read, copied float64) {
	return b.bandwidth(probeBytes)
}

// bandwidth probes with two arrays of the given size.
func (b *Backend) bandwidth(size int) (read, copied float64) {
	arena, err := kernels.NewHostArena(2 * size)
	if err != nil { // no room for the probe: nothing is known
		return 0, 0
	}
	defer func() { _ = arena.Free() }()
	both := arena.View(0, kernels.I8, 2*size).Host
	x, y := both[:size], both[size:]
	tasks := 16 * b.workers()
	part := func(of []byte, t int) []byte { return of[t*size/tasks : (t+1)*size/tasks] }
	// Memory that was never written is one page of zeros to the system, and some processors write zeros faster than anything else.
	b.pool.run(newLoop(tasks, inlineNS, func(t int) { vary(part(x, t)); clear(part(y, t)) }))
	read = float64(size) / b.fastest(tasks, func(t int) { bytes.IndexByte(part(x, t), 1) })
	copied = 2 * float64(size) / b.fastest(tasks, func(t int) { copy(part(y, t), part(x, t)) })
	return read, copied
}

// vary fills memory with bytes that differ from their neighbours and are never 1.
func vary(x []byte) {
	for i := range x {
		x[i] = byte(i*167>>3) | 2
	}
}

func (b *Backend) workers() int { return len(b.pool.helpers) + 1 }

// fastest is the least time in seconds that the tasks took together.
func (b *Backend) fastest(tasks int, fn func(task int)) float64 {
	l := newLoop(tasks, inlineNS, fn)
	least := timed(func() { b.pool.run(l) })
	for range probeRuns - 1 {
		least = min(least, timed(func() { b.pool.run(l) }))
	}
	return least.Seconds()
}

// timed is the time that fn takes.
func timed(fn func()) time.Duration {
	start := time.Now()
	fn()
	return time.Since(start)
}
