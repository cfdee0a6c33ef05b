package lab

import (
	"context"
	"math"
	"testing"

	"prenorm/model"
)

// TestDrop wants a block whose matrices are zero to cost nothing, and another one something.
func TestDrop(t *testing.T) {
	g := littleGrid()
	g.Model.Layers = 3
	w, err := model.NewWeights(openCPU(t), g.Model)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Initialise(1); err != nil {
		t.Fatal(err)
	}
	for i, row := range w.Table {
		if row.Name == "layers.1.self_attn.o_proj.weight" || row.Name == "layers.1.mlp.down_proj.weight" {
			if err := w.Backend().Upload(w.Slab.View(i), make([]float32, row.Len())); err != nil {
				t.Fatal(err)
			}
		}
	}
	r, err := Drop(context.Background(), "run", w, littleText(t).Val, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	d := r.Damage()
	if len(d) != 3 || math.Abs(d[1]) > 1e-6 || math.Abs(d[0]) < 1e-6 || math.Abs(d[2]) < 1e-6 {
		t.Errorf("damage %v, want none from the second block alone", d)
	}
	if math.Abs(r.Without[0]-r.Whole-d[0]) > 1e-12 {
		t.Errorf("loss %g, without block 1 %g, damage %g", r.Whole, r.Without[0], d[0])
	}
	if page := DropReport([]DropResult{r, r}); len(page.Sections[0].Tables[0].Rows) != 8 || len(page.Sections[0].Figures[0].Labels) != 3 {
		t.Errorf("page %+v", page.Sections[0].Tables[0].Rows)
	}
}

func TestTrend(t *testing.T) {
	if v := Trend([]float64{9, 3, 2, 1}); math.Abs(v+1) > 1e-12 {
		t.Errorf("trend %g of damage that falls, want -1", v)
	}
	if v := Trend([]float64{0, 1, 2, 4}); v < 0.9 {
		t.Errorf("trend %g of damage that rises", v)
	}
}
