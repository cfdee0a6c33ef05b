package model

import (
	"strings"
	"testing"

	"prenorm/kernels/ref"
)

// TestLoadNamesEveryMisfit wants weights that do not fit a model to be refused tensor by tensor.
func TestLoadNamesEveryMisfit(t *testing.T) {
	w, err := NewWeights(ref.New(), variants()["base"])
	if err != nil {
		t.Fatal(err)
	}
	defer w.Free()
	err = w.Load(func(name string) ([]float32, []int, bool, error) {
		p := w.Table[w.index[name]]
		shape := append([]int{}, p.Shape...)
		switch name {
		case "norm.weight":
			return nil, nil, false, nil
		case "embed_tokens.weight": // as many elements, in another shape
			shape[0], shape[1] = shape[1], shape[0]
		}
		return make([]float32, p.Len()), shape, true, nil
	})
	if err == nil || !strings.Contains(err.Error(), "norm.weight [12] is missing") || !strings.Contains(err.Error(), "embed_tokens.weight is [12 23], the model wants [23 12]") {
		t.Errorf("error %v", err)
	}
}
