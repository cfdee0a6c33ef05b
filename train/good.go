package train

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"prenorm/train/checkpoint"
	"prenorm/train/safetensors"
)

// goodFile is the file of a checkpoint that holds the state which a guard would rewind to, where that is another than the checkpoint's own.
const goodFile = "rewind.safetensors"

// checkpointFiles are the files beside weights, moments and state.
func (l *loop) checkpointFiles() (map[string][]byte, error) {
	if l.good == nil || l.state.Guard.Good.Step == l.state.Step {
		return l.files, nil
	}
	snap := l.good.snapshot(nil)
	var b bytes.Buffer
	if err := safetensors.Write(&b, slices.Concat(snap.Weights, snap.Optimizer), nil); err != nil {
		return nil, err
	}
	files := maps.Clone(l.files)
	files[goodFile] = b.Bytes()
	return files, nil
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
