package train

import (
	"fmt"
	"slices"

	"prenorm/kernels"
	"prenorm/model"
	"prenorm/model/exec"
	"prenorm/train/checkpoint"
	"prenorm/train/safetensors"
)

// held is a copy of a run's whole state in host memory: weights, buffers, moments and [State]. Its memory is allocated once. It is what a
// checkpoint is written from while training goes on, and what a run goes back to without reading a file. One goroutine at a time may fill
// it; once filled, any number may read it.
type held struct {
	be      kernels.Backend
	arena   *kernels.HostArena
	tensors []heldTensor // in a checkpoint's order: weights, buffers, moments
	weights int          // how many of them belong to the weights' file
	windows bool         // the tensors are those on the host themselves: no copy, and nothing to go back to
	state   State
	full    bool // it holds a state
}

// heldTensor is one tensor on the device with its place in the copy.
type heldTensor struct {
	name   string
	shape  []int
	device kernels.View
	host   []float32
	boxed  any // host: putting a slice into an interface anew is an allocation
}

// HeldBytes is the host memory of a copy of the state of a model with these tensors under an optimizer of so many moments.
func HeldBytes(table, buffers []model.Param, moments int) int64 {
	n := model.Count(table)*int64(1+moments) + model.Count(buffers)
	return n * int64(kernels.F32.Size())
}

// newHeld allocates a copy, which holds nothing yet. More memory than the machine has is an error.
func newHeld(w *model.Weights, s *Stepper) (*held, error) {
	h := &held{be: w.Backend()}
	h.add(w, s)
	bytes := int(HeldBytes(w.Table, w.BufferTable, len(s.Moments())))
	var err error
	if h.arena, err = kernels.NewHostArena(bytes); err != nil {
		return nil, fmt.Errorf("copy of the state of %d bytes: %w", bytes, err)
	}
	all := h.arena.View(0, kernels.F32, bytes/kernels.F32.Size()).F32()
	for i := range h.tensors {
		t := &h.tensors[i]
		n := t.device.Len()
		t.host, all = all[:n:n], all[n:]
		t.boxed = t.host
	}
	return h, nil
}

// newWindows shows the present state where it lies on the host, for a checkpoint that training waits for; where it lies on a device, it
// is [newHeld].
func newWindows(w *model.Weights, s *Stepper) (*held, error) {
	if kernels.OnDevice(w.Backend()) {
		return newHeld(w, s)
	}
	h := &held{windows: true}
	h.add(w, s)
	for i := range h.tensors {
		h.tensors[i].host = h.tensors[i].device.F32()
	}
	return h, nil
}

// add lists the tensors of the state.
func (h *held) add(w *model.Weights, s *Stepper) {
	add := func(table []model.Param, slab *exec.Slab, prefix string) {
		for i, p := range table {
			h.tensors = append(h.tensors, heldTensor{name: prefix + p.Name, shape: p.Shape, device: slab.View(i)})
		}
	}
	add(w.Table, w.Slab, "")
	add(w.BufferTable, w.Buffers, "")
	h.weights = len(h.tensors)
	for i, name := range s.MomentNames() {
		add(w.Table, s.Moments()[i], name+".")
	}
}

// hold copies the present state in place of the one that was held. After an error it holds none.
func (h *held) hold(state State) error {
	if h.windows {
		h.state = state
		return nil
	}
	h.full = false
	for i := range h.tensors {
		t := &h.tensors[i]
		if err := h.be.Download(t.boxed, t.device); err != nil {
			return fmt.Errorf("read %s: %w", t.name, err)
		}
	}
	state.Guard, state.Recent = state.Guard.clone(), slices.Clone(state.Recent)
	h.state, h.full = state, true
	return nil
}

// restore brings weights, buffers and moments back to what is held. What else the run remembers is left to the caller.
func (h *held) restore() error {
	if !h.full {
		return fmt.Errorf("train: no state is held in memory to go back to")
	}
	for i := range h.tensors {
		t := &h.tensors[i]
		if err := h.be.Upload(t.device, t.boxed); err != nil {
			return fmt.Errorf("bring back %s: %w", t.name, err)
		}
	}
	return nil
}

// snapshot is what is held as a checkpoint, with files beside it. It is valid until the next hold.
func (h *held) snapshot(files map[string][]byte) checkpoint.Snapshot {
	list := make([]safetensors.Tensor, len(h.tensors))
	for i, t := range h.tensors {
		list[i] = safetensors.New(t.name, t.shape, t.host)
	}
	return checkpoint.Snapshot{Step: h.state.Step, State: h.state, Files: files, Metadata: map[string]string{"format": "pt"},
		Weights: list[:h.weights:h.weights], Optimizer: list[h.weights:]}
}

// Free releases the memory.
func (h *held) Free() error {
	if h.windows {
		return nil
	}
	return h.arena.Free()
}
