package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"prenorm/kernels"
)

// lane is where each view of a call begins: a multiple of every alignment that a device asks for.
const lane = 256

// place gives the views of a call memory in one arena, filled with numbers that every call can take. Where the call updates in place, outputs
// are inputs.
func place(be kernels.Backend, c kernels.Call, a kernels.Args) (placed kernels.Args, arena kernels.Arena, err error) {
	work, err := be.Workspace(c, a)
	if err != nil {
		return placed, nil, err
	}
	bytes := 0
	at := func(v kernels.View) int {
		begin := bytes
		bytes += (v.Bytes() + lane - 1) / lane * lane
		return begin
	}
	var offsets []int
	lists := [][]kernels.View{a.In, a.Saved, a.Out, a.Aux}
	for _, v := range slices.Concat(lists...) {
		offsets = append(offsets, at(v))
	}
	workAt := at(kernels.Shaped(kernels.I8, work))
	if arena, err = be.NewArena(bytes); err != nil {
		return placed, nil, err
	}
	next := func(list []kernels.View) []kernels.View {
		out := make([]kernels.View, len(list))
		for i, v := range list {
			out[i] = arena.View(offsets[0], v.DType, v.Shape...)
			offsets = offsets[1:]
		}
		return out
	}
	placed = kernels.Args{In: next(a.In), Saved: next(a.Saved), Out: next(a.Out), Aux: next(a.Aux)}
	if work > 0 {
		placed.Work = arena.View(workAt, kernels.I8, work)
	}
	switch c.(type) {
	case kernels.AdamW, kernels.SGD, kernels.Fill:
		copy(placed.Out, placed.In)
	}
	for _, v := range slices.Concat(placed.In, placed.Saved) {
		if err := fill(be, v, indices(c, placed)); err != nil {
			return placed, arena, err
		}
	}
	return placed, arena, nil
}

// indices is how many values the integers that a call reads may have, from 0.
func indices(c kernels.Call, a kernels.Args) int {
	switch c := c.(type) {
	case kernels.Embed, kernels.LinearCrossEntropy, kernels.LinearCrossEntropyGrad:
		return a.In[1].Dim(0)
	case kernels.EmbedGrad:
		return c.Vocab
	case kernels.Rope:
		return a.In[2].Dim(0)
	}
	return 1
}

// fill uploads positive numbers of a narrow range, which no call overflows with, or integers below a limit.
func fill(be kernels.Backend, v kernels.View, limit int) error {
	r := rand.New(rand.NewPCG(1, uint64(v.Len())))
	switch n := v.Len(); v.DType {
	case kernels.F32:
		return be.Upload(v, repeated(n, func() float32 { return 0.01 + 0.09*r.Float32() }))
	case kernels.BF16:
		return be.Upload(v, repeated(n, func() uint16 { return uint16(math.Float32bits(0.01+0.09*r.Float32()) >> 16) }))
	case kernels.I32:
		return be.Upload(v, repeated(n, func() int32 { return r.Int32N(int32(limit)) }))
	default:
		return fmt.Errorf("bench: a view of %v", v.DType)
	}
}

// repeated is n values, of which the first million are drawn.
func repeated[E any](n int, draw func() E) []E {
	x := make([]E, n)
	drawn := min(n, 1<<20)
	for i := range drawn {
		x[i] = draw()
	}
	for at := drawn; at < n; {
		at += copy(x[at:], x[:drawn])
	}
	return x
}
