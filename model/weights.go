package model

import (
	"fmt"
	"strings"

	"prenorm/kernels"
	"prenorm/model/exec"
)

// Weights are a model's parameters in one slab of a backend's memory. Every program of the model reads the same slab.
type Weights struct {
	Config Config // resolved
	Table  []Param
	Slab   *exec.Slab
	be     kernels.Backend
	index  map[string]int
}

// NewWeights allocates zeroed float32 parameters. The configuration must have a vocabulary.
func NewWeights(be kernels.Backend, c Config) (*Weights, error) {
	table, err := Table(c)
	if err != nil {
		return nil, err
	}
	w := &Weights{Config: c.Resolved(), Table: table, be: be, index: make(map[string]int, len(table))}
	for i, p := range table {
		w.index[p.Name] = i
	}
	if w.Slab, err = NewSlab(be, kernels.F32, table); err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	return w, nil
}

// Backend is where the weights are.
func (w *Weights) Backend() kernels.Backend { return w.be }

// Count is the number of parameters.
func (w *Weights) Count() int64 { return Count(w.Table) }

// Count is the number of parameters of a table.
func Count(table []Param) int64 {
	var n int64
	for _, p := range table {
		n += int64(p.Len())
	}
	return n
}

// Initialise draws every parameter's initial values.
func (w *Weights) Initialise(seed int64) error {
	for i, p := range w.Table {
		if err := w.be.Upload(w.Slab.View(i), p.Initial(seed)); err != nil {
			return fmt.Errorf("initialise %s: %w", p.Name, err)
		}
	}
	return nil
}

// Source gives the values of a tensor by name; ok is false where it has none.
type Source func(name string) (values []float32, shape []int, ok bool, err error)

// Load sets every parameter from a source. A missing tensor and a wrong shape are errors that name it, and all of them.
func (w *Weights) Load(from Source) error {
	var wrong []string
	for i, p := range w.Table {
		values, shape, ok, err := from(p.Name)
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Sprintf("%s: %v", p.Name, err))
		case !ok:
			wrong = append(wrong, fmt.Sprintf("%s %v is missing", p.Name, p.Shape))
		case fmt.Sprint(shape) != fmt.Sprint(p.Shape):
			wrong = append(wrong, fmt.Sprintf("%s is %v, the model wants %v", p.Name, shape, p.Shape))
		default:
			if err := w.be.Upload(w.Slab.View(i), values); err != nil {
				return fmt.Errorf("load %s: %w", p.Name, err)
			}
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("the weights do not fit the model's configuration:\n  %s", strings.Join(wrong, "\n  "))
	}
	return nil
}

// Values copies parameter i to the host.
func (w *Weights) Values(i int) ([]float32, error) {
	x := make([]float32, w.Table[i].Len())
	if err := w.be.Download(x, w.Slab.View(i)); err != nil {
		return nil, fmt.Errorf("read %s: %w", w.Table[i].Name, err)
	}
	return x, nil
}

// Free releases the memory.
func (w *Weights) Free() error { return w.Slab.Free() }
