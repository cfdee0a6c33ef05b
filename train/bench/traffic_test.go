package bench

import (
	"testing"

	"prenorm/kernels"
	_ "prenorm/kernels/cpu"
	"prenorm/model"
)

// TestTraffic wants a token's bytes to hold the keys and values that it sees, no others, and the weights once.
func TestTraffic(t *testing.T) {
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
	moved, err := trafficOf(w)
	if err != nil {
		t.Fatal(err)
	}
	const row = 2 * 2 * 16 * 4 // a key and a value of two heads of 16, float32
	for positions, rows := range map[int]int64{1: 3, 10: 30, 11: 32, 1000: 2010} {
		if got := moved.bytes(positions) - moved.always; got != rows*row {
			t.Errorf("%d positions: %d bytes of keys and values, want %d", positions, got, rows*row)
		}
	}
	weights := int64(w.Slab.Bytes())
	if moved.always < weights || moved.always > weights+weights/10 {
		t.Errorf("%d bytes besides, the weights are %d", moved.always, weights)
	}
}
