//go:build gpu

package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"prenorm/kernels"
)

// TestWildScores wants finite gradients of scores that are so large that a rounding of theirs is more than an exponential can bear, as in a run
// that goes wild: no probability is above 1, so a row of dv is no larger than all that it sums up.
func TestWildScores(t *testing.T) {
	b := opened(t)
	r := rand.New(rand.NewPCG(61, 62))
	for _, c := range []kernels.Attention{
		{Heads: 2, KVHeads: 1, HeadDim: 8, T: 70, Scale: 0.35},
		{Heads: 1, KVHeads: 1, HeadDim: 64, T: 66, Scale: 0.125, Window: 20},
		{Heads: 2, KVHeads: 2, HeadDim: 72, T: 40, Scale: 0.12, Softcap: 1e12},
		{Heads: 1, KVHeads: 1, HeadDim: 128, T: 34, Scale: 0.09},
		{Heads: 1, KVHeads: 1, HeadDim: 200, T: 34, Scale: 0.07},
	} {
		for _, size := range []float32{1e3, 1e6, 1e9, 1e14} {
			for _, narrow := range []bool{false, true} {
				draw := func(width int, size float32) kernels.View {
					x := random(r, c.T, width)
					for i := range x.F32() {
						x.F32()[i] *= size
					}
					if narrow {
						return narrowed16(x)
					}
					return x
				}
				p := flashProblem{Attention: c, dy: draw(c.Heads*c.HeadDim, 1)}
				p.in = []kernels.View{draw(c.Heads*c.HeadDim, size), draw(c.KVHeads*c.HeadDim, size), draw(c.KVHeads*c.HeadDim, 1)}
				what := fmt.Sprintf("%+v, queries and keys of %g, in bfloat16 %v", c, size, narrow)
				y, lse := runWide(t, b, c, p.in, nil)
				grads, _ := runWide(t, b, kernels.AttentionGrad(c), p.gradInputs(y[0]), lse)
				most := float64(c.T*c.Heads/c.KVHeads) * largestOf(p.dy)
				for i, name := range []string{"dq", "dk", "dv"} {
					for at, x := range wide64(grads[i]).F64() {
						if math.IsNaN(x) || math.IsInf(x, 0) || name == "dv" && math.Abs(x) > 1.01*most {
							t.Errorf("%s: element %d of %s is %g", what, at, name, x)
							break
						}
					}
				}
			}
		}
	}
}
