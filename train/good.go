package train

import (
	"fmt"
	"slices"

	"prenorm/train/checkpoint"
	"prenorm/train/safetensors"
)

// goodFile is the file of a checkpoint that holds the state which a guard would rewind to, where that is another than the checkpoint's own.
const goodFile = "rewind.safetensors"

// snapshot is what is held as a checkpoint of the run, with the state to go back to where that is another. It is written from the copies
// themselves: they must not change while a save is at work.
func (l *loop) snapshot(h *held) checkpoint.Snapshot {
	snap := h.snapshot(l.files)
	if l.good != nil && l.state.Guard.Good.Step != l.state.Step {
		good := l.good.snapshot(nil)
		snap.Tensors = map[string][]safetensors.Tensor{goodFile: slices.Concat(good.Weights, good.Optimizer)}
	}
	return snap
}

// load fills the copy from a file of a checkpoint. Its [State] stays empty: a rewind needs none.
func (h *held) load(from *checkpoint.Loaded, name string) error {
	f, err := safetensors.Parse(from.Files[name])
	if err != nil {
		return fmt.Errorf("checkpoint %s: %s: %w", from.Dir, name, err)
	}
	for _, t := range h.tensors {
		saved, ok := f.Tensor(t.name)
		if !ok || !slices.Equal(saved.Shape, t.shape) {
			return fmt.Errorf("checkpoint %s: %s: %s %v is missing or has another shape", from.Dir, name, t.name, t.shape)
		}
		if err := safetensors.Copy(t.host, saved); err != nil {
			return fmt.Errorf("checkpoint %s: %s: %w", from.Dir, name, err)
		}
	}
	h.full = true
	return nil
}
