package checkpoint

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"prenorm/train/safetensors"
)

func loaded(w []float32, m []float32, state string, files map[string][]byte) *Loaded {
	return &Loaded{Weights: []safetensors.Tensor{safetensors.New("w", []int{len(w)}, w)}, Optimizer: []safetensors.Tensor{safetensors.New("m.w", []int{len(m)}, m)},
		State: json.RawMessage(state), Files: files}
}

// TestCompare plants one difference of each kind.
func TestCompare(t *testing.T) {
	file := func(text string) map[string][]byte { return map[string][]byte{"config.yaml": []byte(text)} }
	a := loaded([]float32{3, 4, 0}, []float32{1, 2}, `{"step": 1, "cursor": {"at": 2}}`, file("x"))
	nan := float32(math.NaN())
	negative := float32(math.Copysign(0, -1))
	for _, c := range []struct {
		what, want string
		b          *Loaded
	}{
		{"nothing", "{[] [] []}", loaded([]float32{3, 4, 0}, []float32{1, 2}, `{"cursor":{"at":2},"step":1}`, file("x"))},
		{"an element", "{[{w   3 1 1 0.2}] [] []}", loaded([]float32{3, 5, 0}, []float32{1, 2}, `{"step":1,"cursor":{"at":2}}`, file("x"))},
		{"the sign of a zero", "{[{w   3 1 0 0}] [] []}", loaded([]float32{3, 4, negative}, []float32{1, 2}, `{"step":1,"cursor":{"at":2}}`, file("x"))},
		{"a NaN", "{[{w   3 2 NaN NaN}] [] []}", loaded([]float32{3, nan, 9}, []float32{1, 2}, `{"step":1,"cursor":{"at":2}}`, file("x"))},
		{"the optimizer's shape", "{[{m.w  F32[2], F32[3] 2 0 0 0}] [] []}", loaded([]float32{3, 4, 0}, []float32{1, 2, 3}, `{"step":1,"cursor":{"at":2}}`, file("x"))},
		{"state", "{[] [cursor tokens] []}", loaded([]float32{3, 4, 0}, []float32{1, 2}, `{"step":1,"cursor":{"at":3},"tokens":4}`, file("x"))},
		{"files", "{[] [] [config.yaml tokenizer.json]}", loaded([]float32{3, 4, 0}, []float32{1, 2}, `{"step":1,"cursor":{"at":2}}`, map[string][]byte{"config.yaml": []byte("y"), "tokenizer.json": nil})},
	} {
		d, err := Compare(a, c.b)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if got := fmt.Sprint(d); got != c.want || d.Same() != (c.what == "nothing") {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	b := loaded([]float32{3, 4, 0}, []float32{1, 2}, `{"step": 1, "cursor": {"at": 2}}`, file("x"))
	b.Weights[0].Name = "v"
	d, err := Compare(a, b)
	if got := fmt.Sprint(d.Tensors); err != nil || got != "[{w a  3 0 0 0} {v b  3 0 0 0}]" {
		t.Errorf("other names: %s, error %v", got, err)
	}
	b.State = json.RawMessage("[1]")
	if _, err := Compare(a, b); err == nil || !strings.Contains(err.Error(), "state.json") {
		t.Errorf("a state that is no object gives the error %v", err)
	}
}
