package lab

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prenorm/data/batch"
	"prenorm/model"
)

// TestWobble holds the figure against rows that are drawn each for itself, and against rows that share a shift by batch.
func TestWobble(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const rows, features, batches = 16, 40, 200
	measure := func(shared float64) float64 {
		means, variances := make([][]float64, batches), make([][]float64, batches)
		for b := range batches {
			means[b], variances[b] = make([]float64, features), make([]float64, features)
			for j := range features {
				x, shift := make([]float64, rows), shared*random.NormFloat64()
				for i := range x {
					x[i] = 5 + shift + math.Exp(random.NormFloat64()) // of a skewed distribution
				}
				mu := mean(x)
				means[b][j] = mu
				for _, v := range x {
					variances[b][j] += (v - mu) * (v - mu) / rows
				}
			}
		}
		return wobble(means, variances, rows)
	}
	if w := measure(0); math.Abs(w-1) > 0.05 {
		t.Errorf("independent rows wobble by %g, want 1", w)
	}
	// exp of a normal number has variance 4.67: batches' means have 4.67/16 + 4, all rows 4.67 + 4.
	if w, want := measure(2), math.Sqrt((4.67/16+4)*16/(4.67+4)); math.Abs(w/want-1) > 0.05 {
		t.Errorf("rows of a batch with one shift wobble by %g, want %g", w, want)
	}
}

// TestByBatch holds the statistics of the first norm, which reads the embedding, against those of each batch's rows.
func TestByBatch(t *testing.T) {
	g := littleGrid()
	g.Model.Norm.Kind = batchNorm
	text := littleText(t)
	s, err := newSession(openCPU(t), text, g.cell("pre", 3e-3, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	_, means, variances, err := s.byBatch()
	if err != nil {
		t.Fatal(err)
	}
	table, err := s.weights.Values(slices.IndexFunc(s.weights.Table, func(p model.Param) bool { return p.Name == "embed_tokens.weight" }))
	if err != nil {
		t.Fatal(err)
	}
	rows, width := s.Train.Batch*s.Model.Context, s.Model.Width
	reader, err := batch.Eval(text.Val, s.Train.Batch, s.Model.Context, evalWindows)
	if err != nil {
		t.Fatal(err)
	}
	var b batch.Batch
	for i := range means {
		if err := reader.Next(&b); err != nil {
			t.Fatal(err)
		}
		for j := range width {
			var mu, square float64
			for _, id := range b.Inputs {
				x := float64(table[int(id)*width+j])
				mu, square = mu+x/float64(rows), square+x*x/float64(rows)
			}
			if math.Abs(means[i][j]-mu) > 1e-5 || math.Abs(variances[i][j]-(square-mu*mu)) > 1e-5 {
				t.Fatalf("batch %d, feature %d: mean %g and variance %g, want %g and %g", i, j, means[i][j], variances[i][j], mu, square-mu*mu)
			}
		}
	}
	if err := s.free(); err != nil || len(means) < 2 || len(means[0]) != 5*width { // two norms a block, and the last
		t.Errorf("%d batches of %d features, %v", len(means), len(means[0]), err)
	}
	// By hand: means 0 and 2 scatter by 2, rows of variance 1 around them have variance 3, of which four rows' mean would have a quarter.
	if w := wobble([][]float64{{0}, {2}}, [][]float64{{1}, {1}}, 4); math.Abs(w-math.Sqrt(8./3)) > 1e-12 {
		t.Errorf("wobble %g", w)
	}
}

// TestStatistics wants batch norm's own statistics to be taken where they are asked for.
func TestStatistics(t *testing.T) {
	g := littleGrid()
	g.Model.Norm.Kind = batchNorm
	r, _ := counting(t, "", 1)
	c := g.cell("pre", 3e-3, 0, 1)
	plain := c
	c.Statistics = true
	results, err := r.Run(context.Background(), []Cell{c, plain})
	if err != nil {
		t.Fatal(err)
	}
	// After twelve steps running statistics are still on their way from 0 and 1, so the two losses differ.
	if x := results[0]; !(x.OwnVal > 0.1 && x.OwnVal < 2) || math.Abs(float64(x.OwnVal-x.Val)) < 1e-4 || !(x.Wobble > 0.05 && x.Wobble < 5) || x.Val != results[1].Val {
		t.Errorf("own %g, running %g, wobble %g", x.OwnVal, x.Val, x.Wobble)
	}
	if x := results[1]; !math.IsNaN(float64(x.OwnVal)) || !math.IsNaN(float64(x.Wobble)) {
		t.Errorf("unasked: %g, %g", x.OwnVal, x.Wobble)
	}
}
