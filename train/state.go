package train

import (
	"encoding/json"
	"fmt"

	"prenorm/data/batch"
	"prenorm/data/dataset"
	"prenorm/kernels"
	"prenorm/model"
	"prenorm/model/exec"
	"prenorm/train/checkpoint"
	"prenorm/train/safetensors"
)

// State is, besides the weights and the optimizer's moments, everything that a run must remember to go on as if it had never stopped. Random
// numbers need no state: each is a function of the seed, the step and its place.
type State struct {
	Step   int64        `json:"step"`   // updates done
	Cursor batch.Cursor `json:"cursor"` // the next batch
	Tokens int64        `json:"tokens"` // trained on so far, repetitions counted
	Seed   int64        `json:"seed"`
	Data   Fingerprints `json:"data"`
	// Sources are the texts of a run with several.
	Sources []SourceState `json:"sources,omitempty"`
	// Products is who multiplied matrices in the last updates, as [kernels.Multiplier] says; "" for a backend with one way to.
	Products string `json:"products,omitempty"`
}

// Fingerprints tell what text a run was trained on.
type Fingerprints struct {
	Tokenizer string `json:"tokenizer"`
	Train     string `json:"train"`
	Val       string `json:"val"`
}

func fingerprints(s dataset.Stats) Fingerprints {
	return Fingerprints{Tokenizer: s.Tokenizer, Train: s.Train.Source, Val: s.Val.Source}
}

// Names of the files that every checkpoint of a run has besides weights, moments and state.
const (
	ConfigFile    = "config.yaml"
	TokenizerFile = "tokenizer.json"
)

// tensorsOf copies the tensors of a slab of a table to the host, with a prefix to their names.
func tensorsOf(be kernels.Backend, table []model.Param, slab *exec.Slab, prefix string) ([]safetensors.Tensor, error) {
	out := make([]safetensors.Tensor, len(table))
	for i, p := range table {
		x := make([]float32, p.Len())
		if err := be.Download(x, slab.View(i)); err != nil {
			return nil, fmt.Errorf("read %s%s: %w", prefix, p.Name, err)
		}
		out[i] = safetensors.New(prefix+p.Name, p.Shape, x)
	}
	return out, nil
}

// snapshot copies the whole state of a run to the host.
func snapshot(w *model.Weights, s *Stepper, state State, files map[string][]byte) (checkpoint.Snapshot, error) {
	snap := checkpoint.Snapshot{Step: state.Step, State: state, Files: files, Metadata: map[string]string{"format": "pt"}}
	var err error
	if snap.Weights, err = tensorsOf(w.Backend(), w.Table, w.Slab, ""); err != nil {
		return snap, err
	}
	buffers, err := tensorsOf(w.Backend(), w.BufferTable, w.Buffers, "")
	if err != nil {
		return snap, err
	}
	snap.Weights = append(snap.Weights, buffers...)
	for i, name := range s.MomentNames() {
		tensors, err := tensorsOf(w.Backend(), w.Table, s.Moments()[i], name+".")
		if err != nil {
			return snap, err
		}
		snap.Optimizer = append(snap.Optimizer, tensors...)
	}
	return snap, nil
}

// SourceOf serves tensors by name.
func SourceOf(tensors []safetensors.Tensor) model.Source {
	byName := make(map[string]safetensors.Tensor, len(tensors))
	for _, t := range tensors {
		byName[t.Name] = t
	}
	return func(name string) ([]float32, []int, bool, error) {
		t, ok := byName[name]
		if !ok {
			return nil, nil, false, nil
		}
		x, err := t.ToF32()
		return x, t.Shape, true, err
	}
}

// restore brings weights, moments and state back from a checkpoint.
func restore(w *model.Weights, s *Stepper, c *checkpoint.Loaded) (State, error) {
	var state State
	if err := json.Unmarshal(c.State, &state); err != nil {
		return state, fmt.Errorf("checkpoint %s: state.json: %w", c.Dir, err)
	}
	if state.Step != c.Step || state.Step < 0 || state.Tokens < 0 {
		return state, fmt.Errorf("checkpoint %s: state.json is of step %d, the checkpoint of step %d", c.Dir, state.Step, c.Step)
	}
	if err := fit(w.All(), c.Weights); err != nil {
		return state, fmt.Errorf("checkpoint %s: %w", c.Dir, err)
	}
	if err := w.Load(SourceOf(c.Weights)); err != nil {
		return state, fmt.Errorf("checkpoint %s: %w", c.Dir, err)
	}
	moments := SourceOf(c.Optimizer)
	for i, name := range s.MomentNames() {
		for k, p := range w.Table {
			x, shape, ok, err := moments(name + "." + p.Name)
			if err != nil || !ok || fmt.Sprint(shape) != fmt.Sprint(p.Shape) {
				return state, fmt.Errorf("checkpoint %s: the optimizer's %s of %s %v is missing or does not fit: was the run trained with another train.optimizer.kind?", c.Dir, name, p.Name, p.Shape)
			}
			if err := w.Backend().Upload(s.Moments()[i].View(k), x); err != nil {
				return state, err
			}
		}
	}
	return state, nil
}
