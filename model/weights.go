package model

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"prenorm/kernels"
	"prenorm/model/exec"
)

// Weights are a model's parameters in one slab of a backend's memory, and beside them what belongs to the model and is not trained. Every
// program of the model reads the same slabs.
type Weights struct {
	Config      Config // resolved
	Table       []Param
	Slab        *exec.Slab
	BufferTable []Param
	Buffers     *exec.Slab // nil without any
	be          kernels.Backend
	index       map[string]int // of parameters
	packed      *packed        // nil without
}

// NewWeights allocates zeroed float32 parameters. The configuration must have a vocabulary.
func NewWeights(be kernels.Backend, c Config) (*Weights, error) {
	net, err := Build(c, Options{Mode: Logits, B: 1, T: 1})
	if err != nil {
		return nil, err
	}
	w := &Weights{Config: c.Resolved(), Table: net.Table(), BufferTable: net.Buffers(), be: be, index: map[string]int{}}
	for i, p := range w.Table {
		w.index[p.Name] = i
	}
	if w.Slab, err = NewSlab(be, kernels.F32, w.Table); err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	if len(w.BufferTable) == 0 {
		return w, nil
	}
	if w.Buffers, err = NewSlab(be, kernels.F32, w.BufferTable); err != nil {
		return nil, errors.Join(fmt.Errorf("buffers: %w", err), w.Slab.Free())
	}
	return w, nil
}

// Views returns every parameter and buffer by name.
func (w *Weights) Views() map[string]kernels.View {
	views := w.Slab.Views("")
	if w.Buffers != nil {
		maps.Copy(views, w.Buffers.Views(""))
	}
	if w.packed != nil {
		maps.Copy(views, w.packed.slab.Views(""))
	}
	return views
}

// All is the table of parameters and, behind it, of buffers.
func (w *Weights) All() []Param { return slices.Concat(w.Table, w.BufferTable) }

// view is tensor i of All.
func (w *Weights) view(i int) kernels.View {
	if n := len(w.Table); i >= n {
		return w.Buffers.View(i - n)
	}
	return w.Slab.View(i)
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

// Initialise draws every parameter's initial values, and sets buffers to theirs.
func (w *Weights) Initialise(seed int64) error {
	for i, p := range w.All() {
		if err := w.be.Upload(w.view(i), p.Initial(seed)); err != nil {
			return fmt.Errorf("initialise %s: %w", p.Name, err)
		}
	}
	return nil
}

// Source gives the values of a tensor by name; ok is false where it has none.
type Source func(name string) (values []float32, shape []int, ok bool, err error)

// Load sets every parameter and buffer from a source. A missing tensor and a wrong shape are errors that name it, and all of them.
func (w *Weights) Load(from Source) error {
	var wrong []string
	for i, p := range w.All() {
		values, shape, ok, err := from(p.Name)
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Sprintf("%s: %v", p.Name, err))
		case !ok:
			wrong = append(wrong, fmt.Sprintf("%s %v is missing", p.Name, p.Shape))
		case fmt.Sprint(shape) != fmt.Sprint(p.Shape):
			wrong = append(wrong, fmt.Sprintf("%s is %v, the model wants %v", p.Name, shape, p.Shape))
		default:
			if err := w.be.Upload(w.view(i), values); err != nil {
				return fmt.Errorf("load %s: %w", p.Name, err)
			}
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("the weights do not fit the model's configuration:\n  %s", strings.Join(wrong, "\n  "))
	}
	return nil
}

// Values copies tensor i of All to the host.
func (w *Weights) Values(i int) ([]float32, error) {
	p := w.All()[i]
	x := make([]float32, p.Len())
	if err := w.be.Download(x, w.view(i)); err != nil {
		return nil, fmt.Errorf("read %s: %w", p.Name, err)
	}
	return x, nil
}

// Free releases the memory.
func (w *Weights) Free() error {
	err := w.Slab.Free()
	if w.Buffers != nil {
		err = errors.Join(err, w.Buffers.Free())
	}
	if w.packed != nil {
		err = errors.Join(err, w.packed.slab.Free())
	}
	return err
}
