package train

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"prenorm/data/batch"
	"prenorm/data/dataset"
	"prenorm/model"
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
	// Guard is nil in a run that has only ever stopped at what is not finite.
	Guard *GuardState `json:"guard,omitempty"`
	// Recent are the last steps, oldest first, whose batches a bundle shows with those of the next. It is empty in a run that writes no bundles.
	Recent []Recent `json:"recent,omitempty"`
	// Best are the checkpoints to be kept for their validation loss, best first, up to the last validation before this step's own.
	Best []Scored `json:"best,omitempty"`
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

// StateFile is the name of a checkpoint's [State].
const StateFile = "state.json"

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

// drawn draws the initial values of a model's tensors.
func drawn(w *model.Weights, seed int64) model.Source {
	byName := map[string]model.Param{}
	for _, p := range w.All() {
		byName[p.Name] = p
	}
	return func(name string) ([]float32, []int, bool, error) {
		p, ok := byName[name]
		return p.Initial(seed), p.Shape, ok, nil
	}
}

// load fills weights from a source, of which nothing is asked any more once ctx has ended. Then the error is that of ctx.
func load(ctx context.Context, w *model.Weights, from model.Source) error {
	err := w.Load(func(name string) ([]float32, []int, bool, error) {
		if err := ended(ctx); err != nil {
			return nil, nil, false, err
		}
		return from(name)
	})
	return cmp.Or(ended(ctx), err)
}

// stateOf reads the state of a checkpoint or bundle, which errors call where.
func stateOf(c *checkpoint.Loaded, where string) (State, error) {
	var state State
	if err := json.Unmarshal(c.State, &state); err != nil {
		return state, fmt.Errorf("%s: %s: %w", where, StateFile, err)
	}
	if state.Step != c.Step || state.Step < 0 || state.Tokens < 0 {
		return state, fmt.Errorf("%s: %s: is of step %d with %d tokens, all else of step %d", where, StateFile, state.Step, state.Tokens, c.Step)
	}
	return state, nil
}

// restore brings weights, moments and state back from a checkpoint or bundle, which errors call where.
func restore(ctx context.Context, w *model.Weights, s *Stepper, c *checkpoint.Loaded, where string) (State, error) {
	state, err := stateOf(c, where)
	if err != nil {
		return state, err
	}
	if err := state.Guard.check(state.Step); err != nil {
		return state, fmt.Errorf("%s: %s: %w", where, StateFile, err)
	}
	if err := fit(w.All(), c.Weights); err != nil {
		return state, fmt.Errorf("%s: %w", where, err)
	}
	if err := load(ctx, w, SourceOf(c.Weights)); err != nil {
		return state, fmt.Errorf("%s: %w", where, err)
	}
	moments := SourceOf(c.Optimizer)
	for i, name := range s.MomentNames() {
		for k, p := range w.Table {
			if err := ended(ctx); err != nil {
				return state, err
			}
			x, shape, ok, err := moments(name + "." + p.Name)
			if err != nil || !ok || fmt.Sprint(shape) != fmt.Sprint(p.Shape) {
				return state, fmt.Errorf("%s: the optimizer's %s of %s %v is missing or does not fit: was the run trained with another train.optimizer.kind?", where, name, p.Name, p.Shape)
			}
			if err := w.Backend().Upload(s.Moments()[i].View(k), x); err != nil {
				return state, err
			}
		}
	}
	return state, nil
}
