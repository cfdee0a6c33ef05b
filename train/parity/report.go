package parity

import (
	"math"
	"strings"

	"prenorm/model"
)

// Figure is the worst error of one kind.
type Figure struct {
	Kind  string  // "logits", "loss", "gradients", "adamw loss", "adamw gradient norm"
	Where string  // the tensor or step of the worst error
	Error float64 // in units of the tolerance: at most 1 passes
	Value float64 // as measured
	Limit float64 // what Value may be
}

// OK says whether the figure is within its tolerance; NaN is not.
func (f Figure) OK() bool { return f.Error <= 1 }

// Report is the outcome for one file.
type Report struct {
	Figures []Figure
	Notes   []string // what the file does not hold, and so was not compared
}

// OK says whether every figure is within its tolerance.
func (r Report) OK() bool {
	for _, f := range r.Figures {
		if !f.OK() {
			return false
		}
	}
	return len(r.Figures) > 0
}

// worst keeps the larger of two figures.
func (f *Figure) worst(where string, value, limit float64) {
	e := value / limit
	if value == 0 {
		e = 0
	}
	if math.IsNaN(value) || math.IsNaN(e) {
		e = math.Inf(1)
	}
	if f.Where == "" || e > f.Error {
		f.Where, f.Value, f.Limit, f.Error = where, value, limit, e
	}
}

func norm(x []float32) float64 { return distance(x, make([]float32, len(x))) }

func distance(x, y []float32) float64 {
	var sum float64
	for i := range x {
		d := float64(x[i]) - float64(y[i])
		sum += d * d
	}
	return math.Sqrt(sum)
}

// unread names tensors of the file that the model has no place for.
func (k *checker) unread() []string {
	table, err := model.Table(k.config)
	if err != nil {
		return nil
	}
	known := map[string]bool{}
	for _, p := range table {
		known[p.Name] = true
	}
	var extra []string
	for _, t := range k.file.Tensors {
		name := strings.TrimPrefix(strings.TrimPrefix(t.Name, "grad."), "trained.")
		if !known[name] && !strings.HasPrefix(name, "input.") && !strings.HasPrefix(name, "output.") {
			extra = append(extra, "tensor "+t.Name+" has no place in the model")
		}
	}
	return extra
}
