package model

import (
	"math"
	"slices"
	"testing"

	"prenorm/kernels"
	"prenorm/model/block"
)

// batchNormed is a small model with batch norm in a placement.
func batchNormed(placement string) Config {
	c := variants()["base"].WithPlacement(placement)
	c.Norm.Kind = "batchnorm"
	return c
}

// TestBatchNormLeaks shows what the warning says: in training the loss of a sequence's first token changes with its last, and with another
// sequence; in evaluation it does not, as with every other norm.
func TestBatchNormLeaks(t *testing.T) {
	for _, kind := range []string{"rmsnorm", "batchnorm"} {
		for _, mode := range []Mode{Train, Eval} {
			c := batchNormed("pre")
			c.Norm.Kind = kind
			r := newRun(t, c, Options{Mode: mode, B: 2, T: 5, DType: kernels.F64}, false)
			targets := slices.Repeat([]int32{-100}, 10)
			targets[0] = 3
			if err := r.program.Set(InTargets, targets); err != nil {
				t.Fatal(err)
			}
			tokens, err := r.program.View(InTokens)
			if err != nil {
				t.Fatal(err)
			}
			want := r.step(t)
			for _, row := range []int{4, 7} {
				old := tokens.I32()[row]
				tokens.I32()[row] = (old + 1) % int32(c.Vocab)
				leaks := r.step(t) != want
				if expected := kind == "batchnorm" && mode == Train; leaks != expected {
					t.Errorf("%s, %v: the loss of row 0 depends on row %d: %v, want %v", kind, mode, row, leaks, expected)
				}
				tokens.I32()[row] = old
			}
		}
	}
}

// TestBatchNormComposes trains and runs every placement with batch norm: gradients are numbers and not all zero, and logits are causal.
func TestBatchNormComposes(t *testing.T) {
	for _, placement := range block.Names() {
		c := batchNormed(placement)
		r := newRun(t, c, Options{B: 2, T: 5}, false)
		if loss := r.step(t); !(loss > 0) || math.IsInf(loss, 0) {
			t.Errorf("%s: loss %v", placement, loss)
		}
		norms, largest := 0, 0.0
		for _, p := range r.net.Buffers() {
			if p.Shape[0] != 2 {
				t.Errorf("%s: running statistics %s %v", placement, p.Name, p.Shape)
			}
			norms++
		}
		for _, g := range floats(r.grads.All()) {
			largest = max(largest, math.Abs(g))
		}
		if (norms == 0) != (placement == "none" || placement == "rezero") || !(largest > 0) || math.IsInf(largest, 0) {
			t.Errorf("%s: %d norms, largest gradient %v", placement, norms, largest)
		}
		f := newForward(t, c, Options{B: 1, T: 6, DType: kernels.F64})
		tokens := []int32{4, 9, 2, 22, 9, 0}
		a := f.logits(t, tokens)
		tokens[4] = 17
		b := f.logits(t, tokens)
		for i := range a {
			if same := slices.Equal(a[i], b[i]); same != (i < 4) {
				t.Errorf("%s: row %d has equal logits after a change of row 4: %v", placement, i, same)
			}
		}
	}
}

// TestRunningStatistics wants a training pass to move running statistics towards those of what the norm read, once.
func TestRunningStatistics(t *testing.T) {
	c := batchNormed("pre")
	c.Norm.Momentum = 0.3
	for _, inspect := range []bool{false, true} {
		r := newRun(t, c, Options{B: 2, T: 5, DType: kernels.F64, Inspect: inspect}, false)
		running, err := r.program.View("layers.0.attn_norm_in.running")
		if err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(running.F64())
		tokens, err := r.program.View(InTokens)
		if err != nil {
			t.Fatal(err)
		}
		table, err := r.program.View("embed_tokens.weight")
		if err != nil {
			t.Fatal(err)
		}
		r.step(t)
		d := c.Width
		for j := range d {
			var mean, variance float64
			at := func(row int32) float64 { return table.F64()[int(row)*d+j] }
			for _, row := range tokens.I32() {
				mean += at(row) / 10
			}
			for _, row := range tokens.I32() {
				variance += (at(row) - mean) * (at(row) - mean) / 10
			}
			for i, s := range map[int]float64{j: mean, d + j: variance} {
				if want := 0.7*before[i] + 0.3*s; math.Abs(running.F64()[i]-want) > 1e-14*max(1, math.Abs(want)) {
					t.Errorf("inspected %v: statistic %d is %v, want %v", inspect, i, running.F64()[i], want)
				}
			}
		}
	}
}
