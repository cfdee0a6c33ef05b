package bench

import (
	"testing"

	"prenorm/kernels"
	_ "prenorm/kernels/cpu"
	"prenorm/model"
	"prenorm/model/exec"
)

// TestTraffic wants a token's bytes to hold the keys and values that it sees, no others, and the weights once, as they are stored.
func TestTraffic(t *testing.T) {
	const layers, written = 3, 2 * 2 * 16 // elements of a key and a value of two heads of 16
	plain := trafficIn(t, "fp32", func(w *model.Weights, moved traffic) {
		wantRows(t, "fp32", moved, 4*written)
		weights := int64(w.Slab.Bytes())
		if moved.always < weights || moved.always > weights+weights/10 {
			t.Errorf("%d bytes besides, the weights are %d", moved.always, weights)
		}
	})
	for _, packing := range []kernels.Packing{kernels.PackBF16, kernels.PackInt8} {
		trafficIn(t, packing.String(), func(w *model.Weights, moved traffic) {
			wantRows(t, packing.String(), moved, 2*written)
			want := plain.always - layers*2*written // a new row of keys and values is written in bfloat16
			views, packed := w.Views(), 0
			for _, p := range w.Table {
				for i, name := range exec.PackedNames(p.Name, packing) {
					if v, ok := views[name]; ok {
						want += int64(v.Bytes())
						if i == 0 {
							want, packed = want-int64(views[p.Name].Bytes()), packed+1
						}
					}
				}
			}
			if moved.always != want || packed == 0 {
				t.Errorf("%v: %d bytes besides, want %d with %d matrices packed", packing, moved.always, want, packed)
			}
		})
	}
}

// trafficIn is the traffic of a model of three layers whose weights are stored in one of the packings.
func trafficIn(t *testing.T, stored string, check func(w *model.Weights, moved traffic)) traffic {
	t.Helper()
	be, err := kernels.Open("cpu", kernels.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer be.Close()
	c := model.Default()
	c.Layers, c.Width, c.Heads, c.KVHeads, c.Context, c.Vocab = 3, 64, 4, 2, 1000, 50
	c.Attention.Window = []int{0, 10, 0}
	w, err := model.NewWeights(be, c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Free() }()
	if err := w.Initialise(1); err != nil {
		t.Fatal(err)
	}
	if err := w.PackAs(stored); err != nil {
		t.Fatal(err)
	}
	moved, err := trafficOf(w)
	if err != nil {
		t.Fatal(err)
	}
	check(w, moved)
	return moved
}

// wantRows wants the rows of so many bytes that a token sees, in layers of which the second one has a window of 10.
func wantRows(t *testing.T, stored string, moved traffic, row int64) {
	t.Helper()
	for positions, rows := range map[int]int64{1: 3, 10: 30, 11: 32, 1000: 2010} {
		if got := moved.bytes(positions) - moved.always; got != rows*row {
			t.Errorf("%s, %d positions: %d bytes of keys and values, want %d", stored, positions, got, rows*row)
		}
	}
}
