package cpu

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"prenorm/kernels"
)

// TestPackedBits: a product with packed weights has the bits of the product with what they stand for, on every tier and with any number of workers,
// and the vector tiers agree.
func TestPackedBits(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	noise := random(r, 1<<20)
	piece := func(shape ...int) kernels.View {
		n := kernels.Shaped(kernels.F32, shape...).Len()
		return kernels.HostView(noise[r.IntN(len(noise)-n):][:n], shape...)
	}
	var backends []*Backend
	for _, level := range tiers() {
		for workers := 1; workers <= 2; workers++ {
			b := newBackend(workers, level)
			defer func() { _ = b.Close() }()
			backends = append(backends, b)
		}
	}
	for i := range 120 {
		m, n, k := 1+r.IntN(8), 1+r.IntN(600), kernels.PackRun*(1+r.IntN(30))
		if i%3 == 0 {
			m = 1 + r.IntN(200)
		}
		packed := kernels.PackedMatMul{Packing: kernels.Packing(i % 2), Bias: r.IntN(2) == 0, Residual: r.IntN(2) == 0}
		plain := kernels.MatMul{TransB: true, Bias: packed.Bias, Residual: packed.Residual}
		x, w := piece(m, k), piece(n, k)
		var addends []kernels.View
		if packed.Bias {
			addends = append(addends, piece(n))
		}
		if packed.Residual {
			addends = append(addends, piece(m, n))
		}
		bits := map[string][]byte{}
		for _, b := range backends {
			kind := "vectors"
			if b.tier == portable {
				kind = "portable"
			}
			name := fmt.Sprintf("%+v %d x %d x %d, %s with %d workers", packed, m, n, k, b.tier.name, len(b.pool.helpers)+1)
			words := blank(packed.Packing.Packed(n, k)...)
			must(t, b, kernels.PackWeights{Packing: packed.Packing}, kernels.Args{Out: words, In: []kernels.View{w}})
			rounded := blank(w)
			must(t, b, kernels.RoundWeights{Packing: packed.Packing}, kernels.Args{Out: rounded, In: []kernels.View{w}})
			got, want := blank(kernels.Shaped(kernels.F32, m, n)), blank(kernels.Shaped(kernels.F32, m, n))
			must(t, b, packed, kernels.Args{Out: got, In: append(append([]kernels.View{x}, words...), addends...)})
			must(t, b, plain, kernels.Args{Out: want, In: append([]kernels.View{x, rounded[0]}, addends...)})
			if !bytes.Equal(got[0].Host, want[0].Host) {
				t.Fatalf("%s: not the bits of the product with the rounded matrix", name)
			}
			if before := bits[kind]; before != nil && !bytes.Equal(got[0].Host, before) {
				t.Fatalf("%s: not the bits of the other backends", name)
			}
			bits[kind] = got[0].Host
		}
	}
}

// blank are views of new memory in the shapes of others.
func blank(like ...kernels.View) []kernels.View {
	all := make([]kernels.View, len(like))
	for i, v := range like {
		all[i] = v
		all[i].Host = make([]byte, v.Bytes())
	}
	return all
}
