package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"prenorm/kernels"
)

// TestLargest holds what is found against the loop that defines it, on every tier: few values, so that there are several that are largest, zeros of
// both signs, and lengths around those of blocks.
func TestLargest(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	negative := float32(math.Copysign(0, -1))
	for _, level := range tiers() {
		b := newBackend(1, level)
		defer func() { _ = b.Close() }()
		var finder kernels.Finder = b
		for round := range 600 {
			x := make([]float32, 1+r.IntN(3*largestBlock+2))
			for i := range x {
				x[i] = [][]float32{{-2, -1}, {-1, 0, negative}, {float32(r.NormFloat64())}, {-math.MaxFloat32, 3}}[round%4][r.IntN([]int{2, 3, 1, 2}[round%4])]
			}
			want := 0
			for i, v := range x {
				if v > x[want] {
					want = i
				}
			}
			if got, finite := finder.Largest(x); got != want || !finite {
				t.Fatalf("%s, %d elements: the largest is at %d (finite: %v), want %d", level.name, len(x), got, finite, want)
			}
			x[r.IntN(len(x))] = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}[round%3]
			if _, finite := finder.Largest(x); finite {
				t.Fatalf("%s, %d elements: one that is not finite is passed over", level.name, len(x))
			}
		}
	}
}

// TestLargestAtEdges wants one element that is larger than all others to be found wherever it lies beside the ends of blocks.
func TestLargestAtEdges(t *testing.T) {
	for _, level := range tiers() {
		b := newBackend(1, level)
		defer func() { _ = b.Close() }()
		for blocks := range 4 {
			for beside := -1; beside <= 2; beside++ {
				x := make([]float32, max(blocks*largestBlock+beside, 1))
				for block := range blocks + 1 {
					for at := block*largestBlock - 2; at <= block*largestBlock+1; at++ {
						if at < 0 || at >= len(x) {
							continue
						}
						x[at] = 1
						if got, finite := b.Largest(x); got != at || !finite {
							t.Errorf("%s, %d elements: the largest is at %d (finite: %v), want %d", level.name, len(x), got, finite, at)
						}
						x[at] = 0
					}
				}
			}
		}
	}
}
