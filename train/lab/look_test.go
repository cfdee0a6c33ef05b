package lab

import (
	"context"
	"errors"
	"math"
	"testing"

	"prenorm/kernels"
)

// TestCellLooks wants a cell to bring what was asked for, and figures that fit each other.
func TestCellLooks(t *testing.T) {
	g := littleGrid()
	r, _ := counting(t, t.TempDir(), 1)
	c := g.cell("residual", 3e-3, 0, 1)
	c.Blocks, c.Probe, c.Drop = true, true, true
	for range 2 { // trained, then read back
		results, err := r.Run(context.Background(), []Cell{c})
		if err != nil {
			t.Fatal(err)
		}
		x := results[0]
		if len(x.Losses) != 12 || len(x.Blocks) != 12 || len(x.Blocks[0]) != 2 || len(x.Dropped) != 2 || x.Before == nil || x.After == nil {
			t.Fatalf("result %+v", x)
		}
		if squares := x.Blocks[0][0]*x.Blocks[0][0] + x.Blocks[0][1]*x.Blocks[0][1]; !(squares > 0 && squares < x.Norms[0]*x.Norms[0]) {
			t.Errorf("blocks' gradients %v, global %g", x.Blocks[0], x.Norms[0])
		}
		for _, look := range []*Look{x.Before, x.After} {
			if len(look.Stream) != 3 || len(look.Dual) != 2 || len(look.Grad) != 3 || math.Abs(look.Cosine[0]-1) > 1e-6 || len(look.Rewrite) != 2 || look == x.Before && math.Abs(look.Stream[2]-1) > 1e-2 {
				t.Errorf("look %+v", look)
			}
		}
		if a := x.After; math.Abs(float64(a.RawLoss-a.Loss)) < 1e-3 || !(a.Logits > 0 && a.RawLogits > 0) { // the head reads both streams
			t.Errorf("logits %+v", a)
		}
		if !(float64(x.Val) < float64(x.Before.Loss)) || float64(x.Dropped[0]) == float64(x.Val) {
			t.Errorf("validation loss %g, before training %g, without block 1 %g", x.Val, x.Before.Loss, x.Dropped[0])
		}
	}
}

// TestHeads wants the loss that is worked out from what the head reads to be the program's.
func TestHeads(t *testing.T) {
	g := littleGrid()
	r, _ := counting(t, "", 1)
	c := g.cell("post", 3e-3, 0, 1)
	c.Probe = true
	results, err := r.Run(context.Background(), []Cell{c})
	if err != nil {
		t.Fatal(err)
	}
	if a := results[0].After; math.Abs(float64(a.RawLoss-a.Loss)) > 1e-5 || a.Logits != a.RawLogits {
		t.Errorf("post has no final norm, so both losses are one: %g and %g", a.Loss, a.RawLoss)
	}
}

// TestLogits holds size and loss of logits against two rows by hand; a third has no target.
func TestLogits(t *testing.T) {
	x, w := []float64{1, 2, 0, 1, 9, 9}, []float64{1, 0, 0, 1} // logits 1, 2 and 0, 1
	size, loss := logits(x, w, []int32{1, 0, -100}, 2)
	want := math.Log(1+math.Exp(-1))/2 + math.Log(1+math.E)/2
	if math.Abs(size-math.Sqrt(6./4)) > 1e-12 || math.Abs(loss-want) > 1e-12 {
		t.Errorf("size %g and loss %g, want %g and %g", size, loss, math.Sqrt(6./4), want)
	}
}

// TestLook holds a look's figures against the streams that it describes.
func TestLook(t *testing.T) {
	p, err := NewProbe(openCPU(t), Setups()["norms"].base.WithPlacement("pre").Resolved(), ProbeOptions{B: 2, T: 5, DType: kernels.F32})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Draw(Draws{}, 4, nil), p.RandomBatch(4)); err != nil {
		t.Fatal(err)
	}
	look, err := p.look()
	if err != nil {
		t.Fatal(err)
	}
	for l := range p.Config.Layers {
		below, err1 := p.Value(stream(l))
		above, err2 := p.Value(stream(l + 1))
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		var added, before, after float64
		for i := range above {
			added, before, after = added+(above[i]-below[i])*(above[i]-below[i]), before+below[i]*below[i], after+above[i]*above[i]
		}
		n := float64(len(above))
		for what, pair := range map[string][2]float64{"added": {look.Added[l], math.Sqrt(added / n)}, "rewrite": {look.Rewrite[l], math.Sqrt(added / before)}, "stream": {look.Stream[l+1], math.Sqrt(after / n)}} {
			if math.Abs(pair[0]/pair[1]-1) > 1e-9 {
				t.Errorf("block %d: %s %g, want %g", l+1, what, pair[0], pair[1])
			}
		}
	}
}
