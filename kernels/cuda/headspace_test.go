//go:build gpu

package cuda

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
)

// headSpaces are head problems of n rows of 8 elements in chunks, the last one shorter. The slices of one chunk's products want more workspace
// than those of the others.
var headSpaces = []struct {
	name            string
	n, vocab, chunk int
}{
	// dW sums over the rows of a chunk. 4096 of them are cut into 16 slices, but 4224, 4095 and 4097 into 15.
	{"last chunk", 4224 + 4096, 60, 4224},
	// dx has a row for each of the chunk's, and is the sum of 4 slices of 1101 logits.
	{"whole chunk", 2*128 + 22, 1101, 128},
}

// TestHeadWorkspace runs heads in chunks, in a workspace of the size that they ask for, between guards, and compares with the reference.
func TestHeadWorkspace(t *testing.T) {
	b := opened(t)
	defer func(old int) { headElements = old }(headElements)
	for _, s := range headSpaces {
		t.Run(s.name, func(t *testing.T) {
			headElements = s.chunk*s.vocab + 5
			r := rand.New(rand.NewPCG(49, 50))
			in := []kernels.View{random(r, s.n, 8), random(r, s.vocab, 8), below(r, s.n, s.vocab), scalar(float32(s.n)), kernels.HostView([]float32{1})}
			c := kernels.LinearCrossEntropyGrad{}
			g := &guarded{Backend: b}
			got, want := run(t, g, c, nil, in...), run(t, ref.New(), c, nil, in...)
			for o, name := range []string{"dx", "dW", "loss"} {
				near(t, name, 4e-6, got[o].F32(), want[o].F32())
			}
			g.check(t)
		})
	}
}

// guarded is a backend whose arenas lie between guards.
type guarded struct {
	*Backend
	arenas []guardedArena
}

type guardedArena struct{ kernels.Arena }

// guardBytes is the size of a guard: more than a slice of the largest product above.
const guardBytes = 1 << 14

func (g *guarded) NewArena(bytes int) (kernels.Arena, error) {
	a, err := g.Backend.NewArena(bytes + 2*guardBytes)
	if err != nil {
		return nil, err
	}
	all := guardedArena{a}
	g.arenas = append(g.arenas, all)
	for _, v := range all.guards() {
		if err := g.Upload(v, guardPattern()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (a guardedArena) View(off int, dtype kernels.DType, shape ...int) kernels.View {
	return a.Arena.View(guardBytes+off, dtype, shape...)
}

func (a guardedArena) guards() []kernels.View {
	return []kernels.View{a.Arena.View(0, kernels.I8, guardBytes), a.Arena.View(a.Bytes()-guardBytes, kernels.I8, guardBytes)}
}

func guardPattern() []int8 {
	p := make([]int8, guardBytes)
	for i := range p {
		p[i] = int8(i%113 + 1)
	}
	return p
}

// check wants the guards to be as they were.
func (g *guarded) check(t *testing.T) {
	t.Helper()
	have := make([]int8, guardBytes)
	for i, a := range g.arenas {
		for side, v := range a.guards() {
			if err := g.Download(have, v); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(kernels.HostView(have, guardBytes).Host, kernels.HostView(guardPattern(), guardBytes).Host) {
				t.Errorf("arena %d of %d bytes: the guard %s it was written to", i, a.Bytes()-2*guardBytes, [2]string{"before", "behind"}[side])
			}
		}
	}
}
