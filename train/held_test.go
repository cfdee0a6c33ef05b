package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prenorm/data/batch"
	"prenorm/kernels"
	"prenorm/kernels/cpu"
	"prenorm/model"
	"prenorm/train/checkpoint"
	"prenorm/train/safetensors"
)

// heldRun is a small model with running statistics in the middle of its training.
func heldRun(t *testing.T) (w *model.Weights, s *Stepper, step func()) {
	t.Helper()
	be := cpu.New(1)
	t.Cleanup(func() { be.Close() })
	c := model.Default()
	c.Layers, c.Width, c.Heads, c.Context, c.Vocab, c.Norm.Kind = 2, 16, 2, 8, 32, "batchnorm"
	w, err := model.NewWeights(be, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Initialise(3); err != nil {
		t.Fatal(err)
	}
	s, err = NewStepper(w, StepOptions{Batch: 2, Context: 8, Accumulate: 1, Optimizer: Default().Optimizer, Clip: 1})
	if err != nil {
		t.Fatal(err)
	}
	b := &batch.Batch{B: 2, T: 8}
	for i := range int32(16) {
		b.Inputs, b.Targets = append(b.Inputs, i), append(b.Targets, (i*7+1)%32)
	}
	n := int64(0)
	return w, s, func() {
		n++
		if _, err := s.Step(context.Background(), n, 0.01, []*batch.Batch{b}); err != nil {
			t.Fatal(err)
		}
	}
}

// present holds the present state in a copy of its own.
func present(t *testing.T, w *model.Weights, s *Stepper, step int64) *held {
	t.Helper()
	h, err := newHeld(w, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.hold(State{Step: step}); err != nil {
		t.Fatal(err)
	}
	return h
}

// differences compares two copies as checkpoints.
func differences(t *testing.T, a, b *held) checkpoint.Difference {
	t.Helper()
	load := func(h *held) *checkpoint.Loaded {
		s := h.snapshot(nil)
		return &checkpoint.Loaded{Weights: s.Weights, Optimizer: s.Optimizer}
	}
	d, err := checkpoint.Compare(load(a), load(b))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestHeldGoesBack holds a state, trains on, and wants every tensor to be what it was once the copy is brought back.
func TestHeldGoesBack(t *testing.T) {
	w, s, step := heldRun(t)
	step()
	h, before := present(t, w, s, 1), present(t, w, s, 1)
	step()
	if d := differences(t, before, present(t, w, s, 2)); len(d.Tensors) < len(w.All()) {
		t.Fatalf("a step changed only %d tensors: the test shows nothing", len(d.Tensors))
	}
	if d := differences(t, before, h); !d.Same() {
		t.Errorf("training changed what is held: %v", d)
	}
	if err := h.restore(); err != nil {
		t.Fatal(err)
	}
	if d := differences(t, before, present(t, w, s, 1)); !d.Same() {
		t.Errorf("brought back: %v", d)
	}
	if snap := h.snapshot(nil); len(snap.Weights) != len(w.All()) || len(snap.Optimizer) != 2*len(w.Table) || snap.Step != 1 {
		t.Errorf("%d tensors of weights, %d of the optimizer, step %d", len(snap.Weights), len(snap.Optimizer), snap.Step)
	}
	if n := HeldBytes(w.Table, w.BufferTable, 2); n != int64(h.arena.Bytes()) {
		t.Errorf("holds %d bytes, %d were planned", h.arena.Bytes(), n)
	}
}

// TestHeldAllocatesNothing wants a copy to be free of allocations, and one that holds nothing not to be brought back.
func TestHeldAllocatesNothing(t *testing.T) {
	w, s, step := heldRun(t)
	h, err := newHeld(w, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.restore(); err == nil || !strings.Contains(err.Error(), "no state is held") {
		t.Errorf("brought back from nothing: %v", err)
	}
	step()
	if n := testing.AllocsPerRun(20, func() {
		if err := h.hold(State{Step: 1}); err != nil {
			t.Fatal(err)
		}
		if err := h.restore(); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// unreadable is a backend that fails from some download on.
type unreadable struct {
	kernels.Backend
	left int
}

func (u *unreadable) Download(dst any, src kernels.View) error {
	if u.left--; u.left < 0 {
		return errDisk
	}
	return u.Backend.Download(dst, src)
}

// TestHalfHeldIsNone wants a copy that could not be filled in place of an older one not to be brought back: it is of neither state.
func TestHalfHeldIsNone(t *testing.T) {
	w, s, step := heldRun(t)
	step()
	h := present(t, w, s, 1)
	step()
	after := present(t, w, s, 2)
	be := &unreadable{h.be, 3}
	h.be = be
	if err := h.hold(State{Step: 2}); !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "read ") {
		t.Error(err)
	}
	if err := h.restore(); err == nil || !strings.Contains(err.Error(), "no state is held") {
		t.Errorf("brought back from half a copy: %v", err)
	}
	if d := differences(t, after, present(t, w, s, 2)); !d.Same() {
		t.Errorf("it has changed %d tensors of the state", len(d.Tensors))
	}
	be.left = 1000
	if err := errors.Join(h.hold(State{Step: 2}), h.restore()); err != nil {
		t.Errorf("filled anew: %v", err)
	}
}

// TestRewindFileIsChecked wants the state to go back to, as a checkpoint holds it, to be taken tensor by tensor in its own shape, or not at all.
func TestRewindFileIsChecked(t *testing.T) {
	w, s, step := heldRun(t)
	step()
	snap := present(t, w, s, 1).snapshot(nil)
	whole := slices.Concat(snap.Weights, snap.Optimizer)
	at := slices.IndexFunc(whole, func(t safetensors.Tensor) bool { return len(t.Shape) == 2 && t.Shape[0] != t.Shape[1] })
	file := func(change func(list []safetensors.Tensor) []safetensors.Tensor) *checkpoint.Loaded {
		var b bytes.Buffer
		if err := safetensors.Write(&b, change(slices.Clone(whole)), nil); err != nil {
			t.Fatal(err)
		}
		return &checkpoint.Loaded{Dir: "step-00000001", Files: map[string][]byte{goodFile: b.Bytes()}}
	}
	for name, change := range map[string]func(list []safetensors.Tensor) []safetensors.Tensor{
		"turned": func(list []safetensors.Tensor) []safetensors.Tensor {
			list[at].Shape = []int{list[at].Shape[1], list[at].Shape[0]}
			return list
		},
		"missing": func(list []safetensors.Tensor) []safetensors.Tensor { return slices.Delete(list, at, at+1) },
	} {
		h, err := newHeld(w, s)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("checkpoint step-00000001: %s: %s %v is missing or has another shape", goodFile, whole[at].Name, whole[at].Shape)
		if err := h.load(file(change), goodFile); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if err := h.restore(); err == nil {
			t.Errorf("%s: it can be gone back to", name)
		}
	}
	h := present(t, w, s, 1)
	if err := h.load(file(func(list []safetensors.Tensor) []safetensors.Tensor { return list }), goodFile); err != nil {
		t.Error(err)
	}
}

// savedAt is a run's checkpoint of a step.
func savedAt(t *testing.T, j Job, step int64) *checkpoint.Loaded {
	t.Helper()
	c, err := checkpoint.Load(checkpoint.OS, filepath.Join(checkpointRoot(j.Dir), fmt.Sprintf("step-%08d", step)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wantSameTensors wants the weights and moments of two checkpoints to be the same bits.
func wantSameTensors(t *testing.T, want, have *checkpoint.Loaded) {
	t.Helper()
	d, err := checkpoint.Compare(want, have)
	if err != nil || len(d.Tensors) > 0 {
		t.Errorf("step %d does not have the weights and moments of step %d: %v, %v", have.Step, want.Step, d.Tensors, err)
	}
}
