package cpu

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"prenorm/kernels"
)

// TestCachedHalvesBits: attention over keys and values in bfloat16 has the bits of attention over the same numbers in float32, on every tier and with
// any number of workers, and the vector tiers agree; a cache written in bfloat16 holds what was written, rounded.
func TestCachedHalvesBits(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	noise := random(r, 1<<20)
	piece := func(rows, width int) kernels.View {
		return kernels.HostView(noise[r.IntN(len(noise)-rows*width):][:rows*width], rows, width)
	}
	var backends []*Backend
	for _, level := range tiers() {
		for workers := 1; workers <= 2; workers++ {
			b := newBackend(workers, level)
			defer func() { _ = b.Close() }()
			backends = append(backends, b)
		}
	}
	for i := range 80 {
		kv := 1 + r.IntN(3)
		c := kernels.CachedAttention{KVHeads: kv, Heads: kv * (1 + r.IntN(2)), HeadDim: []int{16, 48, 64, 80, 128, 1 + r.IntN(70)}[i%6],
			T: 1 + r.IntN(fewQueries), Context: 8 + r.IntN(900), Scale: 0.2, Window: []int{0, 1 + r.IntN(500)}[i%2]}
		if i%4 == 3 {
			c.T = 5 + r.IntN(60)
			c.Context += c.T
		}
		at, sequences, width := r.IntN(c.Context), 1+r.IntN(2), kv*c.HeadDim
		position := kernels.HostView([]int32{int32(at)}, 1)
		q := piece(sequences*c.T, c.Heads*c.HeadDim)
		bits := map[string][]byte{}
		for _, b := range backends {
			name := fmt.Sprintf("%+v at %d, %s with %d workers", c, at, b.tier.name, b.workers())
			halves := [2]kernels.View{{DType: kernels.BF16, Shape: []int{sequences * c.Context, width}}, {DType: kernels.BF16, Shape: []int{sequences * c.Context, width}}}
			wide := blank(kernels.Shaped(kernels.F32, halves[0].Shape...), kernels.Shaped(kernels.F32, halves[1].Shape...))
			for j := range halves {
				halves[j] = blank(halves[j])[0]
				old, fresh := noise[j*1000:][:wide[j].Len()], kernels.HostView(noise[j*77+at:][:sequences*c.T*width], sequences*c.T, width)
				must(t, b, kernels.Convert{}, kernels.Args{Out: []kernels.View{halves[j]}, In: []kernels.View{kernels.HostView(old, halves[j].Shape...)}})
				write := kernels.CacheWrite{T: c.T, Context: c.Context}
				must(t, b, write, kernels.Args{Out: []kernels.View{halves[j]}, In: []kernels.View{halves[j], fresh, position}})
				copy(wide[j].F32(), old)
				must(t, b, write, kernels.Args{Out: []kernels.View{wide[j]}, In: []kernels.View{wide[j], fresh, position}})
				for e, x := range wide[j].F32() {
					if wide[j].F32()[e] = kernels.FromBF16(kernels.ToBF16(x)); halves[j].BF16()[e] != kernels.ToBF16(x) {
						t.Fatalf("%s: element %d of a cache in bfloat16 is %#x after a write, want %#x", name, e, halves[j].BF16()[e], kernels.ToBF16(x))
					}
				}
			}
			got, want := blank(q), blank(q)
			must(t, b, c, kernels.Args{Out: got, In: []kernels.View{q, halves[0], halves[1], position}})
			must(t, b, c, kernels.Args{Out: want, In: []kernels.View{q, wide[0], wide[1], position}})
			if !bytes.Equal(got[0].Host, want[0].Host) {
				t.Fatalf("%s: not the bits of the call on a float32 cache", name)
			}
			kind := map[bool]string{false: "vectors", true: "portable"}[b.tier == portable]
			if before := bits[kind]; before != nil && !bytes.Equal(got[0].Host, before) {
				t.Fatalf("%s: not the bits of the other backends", name)
			}
			bits[kind] = got[0].Host
		}
	}
}

// BenchmarkCached times attention of a new row over full caches of 12 layers in turn, so that they come from memory.
func BenchmarkCached(b *testing.B) {
	const layers, rows, width = 12, 1024, 768
	c := kernels.CachedAttention{Heads: 12, KVHeads: 12, HeadDim: 64, T: 1, Context: rows, Scale: 0.125}
	r, position := source(), kernels.HostView([]int32{rows - 1}, 1)
	q, y, wide := floats(r, 1, width), floats(r, 1, width), floats(r, rows, width)
	for _, d := range []kernels.DType{kernels.F32, kernels.BF16} {
		arena, err := kernels.NewHostArena(2 * layers * rows * width * d.Size())
		if err != nil {
			b.Fatal(err)
		}
		var steps []step
		var caches []kernels.View
		for i := range 2 * layers {
			v := arena.View(i*rows*width*d.Size(), d, rows, width)
			cacheAt(v).set(tiers()[0], 0, wide.F32())
			caches = append(caches, v)
		}
		for i := range layers {
			steps = append(steps, step{c, []kernels.View{y}, []kernels.View{q, caches[2*i], caches[2*i+1], position}})
		}
		benchmarkSteps(b, d.String(), steps...)
		if err := arena.Free(); err != nil {
			b.Fatal(err)
		}
	}
}
