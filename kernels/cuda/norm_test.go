//go:build gpu

package cuda

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
)

// longRows are sizes of rows that the conformance suite does not reach, each with the way that rows of float32 take.
var longRows = []struct {
	rows, width    int
	how            string
	threads, block int
}{
	{70, 517, "_long", 256, 256},  // not a multiple of 4
	{70, 520, "_held", 64, 256},   // four rows a block, three strips
	{40, 1028, "_held", 128, 256}, // a multiple of 4 and not of 8
	{5, 4096, "_held", 256, 256},
	{5, 5000, "_held", 320, 320},
	{3, 9000, "_long", 256, 256}, // too long for the registers
}

// TestLongRuns takes the norms and their gradients in every choice of types.
func TestLongRuns(t *testing.T) {
	b := opened(t)
	for _, s := range longRows {
		if w := teamOf(s.width, []kernels.View{kernels.Shaped(kernels.F32)}); w != (team{s.how, s.threads, s.block}) {
			t.Errorf("rows of %d are given to %+v", s.width, w)
		}
		t.Run(fmt.Sprint(s.rows, "x", s.width), func(t *testing.T) {
			r := rand.New(rand.NewPCG(9, uint64(s.width)))
			matrix := func() kernels.View { return random(r, s.rows, s.width) }
			x, dy, past, gain, bias := matrix(), matrix(), matrix(), random(r, s.width), random(r, s.width)
			in := func(v ...kernels.View) []kernels.View { return v }
			everyType(t, b, kernels.RMSNorm{Eps: 1e-6}, in(x, gain))
			everyType(t, b, kernels.LayerNorm{Eps: 1e-6, UnitOffset: true}, in(x, gain, bias))
			everyType(t, b, kernels.AddRMSNorm{Eps: 1e-6, UnitOffset: true}, in(x, past, gain))
			everyType(t, b, kernels.AddLayerNorm{Eps: 1e-6}, in(x, past, gain, bias))
			everyType(t, b, kernels.RMSNormGrad{Eps: 1e-6, UnitOffset: true}, in(x, gain, dy))
			everyType(t, b, kernels.LayerNormGrad{Eps: 1e-6}, in(x, gain, bias, dy))
			everyType(t, b, kernels.AddRMSNormGrad{Eps: 1e-6}, in(x, gain, dy, past))
			everyType(t, b, kernels.AddLayerNormGrad{Eps: 1e-6, UnitOffset: true}, in(x, gain, bias, dy, past))
		})
	}
}

// everyType compares a call with the reference in every choice of types that its rule allows; letters e are free, letters a go together.
func everyType(t *testing.T, b *Backend, c kernels.Call, in []kernels.View) {
	t.Helper()
	rule := kernels.TypesOf(c)
	letters := rule.In + rule.Out
	for choice := range 1 << len(letters) {
		types, ok := make([]kernels.DType, len(letters)), true
		together := -1
		for i, l := range letters {
			bit := choice >> i & 1
			ok = ok && (l != 'w' || bit == 0) && (l != 'a' || together < 0 || together == bit)
			if l == 'a' {
				together = bit
			}
			if bit == 1 {
				types[i] = kernels.BF16
			}
		}
		if ok {
			sameAsReferenceAs(t, b, c, types[len(rule.In):], types[:len(rule.In)], in)
		}
	}
}

// sameAsReferenceAs is sameAsReference for given types, to the rounding of each output's type.
func sameAsReferenceAs(t *testing.T, b *Backend, c kernels.Call, out, types []kernels.DType, in []kernels.View) {
	t.Helper()
	operands := append([]kernels.View{}, in...)
	for i, d := range types {
		if d == kernels.BF16 {
			operands[i] = narrowView(in[i])
		}
	}
	got, want := runAs(t, b, c, out, nil, operands...), runAs(t, ref.New(), c, out, nil, operands...)
	for o := range want {
		tolerance := 2e-6
		if o < len(out) && out[o] == kernels.BF16 {
			tolerance = 0x1p-8
		}
		near(t, fmt.Sprintf("%s %v <- %v, output %d", c.Kernel(), out, types, o), tolerance, got[o].F32(), want[o].F32())
	}
}

// TestManySquares takes a sum of squares in more parts than are added up at once.
func TestManySquares(t *testing.T) {
	b := opened(t)
	x := random(rand.New(rand.NewPCG(19, 20)), 2_300_000)
	p, err := planGlobalNorm(kernels.GlobalNorm{}, kernels.Args{In: []kernels.View{x}}, new(scratch))
	if err != nil || p.count <= 256 {
		t.Fatalf("%d parts, %v", p.count, err)
	}
	sameAsReference(t, b, 2e-7, kernels.GlobalNorm{}, x)
}

// TestMoreRowsThanWarps takes more rows than a grid has warps, so that warps have to go on to a second one.
func TestMoreRowsThanWarps(t *testing.T) {
	b := opened(t)
	r := rand.New(rand.NewPCG(21, 22))
	const rows, width = 8*elementBlocks + 70_000, 2
	x, one, gain, bias := random(r, rows, width), random(r, 1), random(r, width), random(r, width)
	sameAsReference(t, b, 1e-6, kernels.Gate{}, x, gain)
	sameAsReference(t, b, 1e-6, kernels.DyT{}, x, one, gain, bias)
}

// TestManyRows takes sums over rows of more strips than are added up at once, and of strips longer than the shortest.
func TestManyRows(t *testing.T) {
	b := opened(t)
	r := rand.New(rand.NewPCG(17, 18))
	const rows, width = 17000, 8
	if s, n := stripsOf(rows), normStrips(rows); s.count <= 32 || s.rows <= 64 || n.count <= 32 || n.rows <= 32 {
		t.Fatalf("%d rows are cut into %v and %v", rows, s, n)
	}
	x, dy, gain := random(r, rows, width), random(r, rows, width), random(r, width)
	in := func(v ...kernels.View) []kernels.View { return v }
	everyType(t, b, kernels.SumRows{}, in(x))
	everyType(t, b, kernels.LayerNormGrad{Eps: 1e-6}, in(x, gain, gain, dy))
}
