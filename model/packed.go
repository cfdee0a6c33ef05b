package model

import (
	"errors"
	"fmt"

	"prenorm/kernels"
	"prenorm/model/exec"
)

// packed is the packed copy of those matrices that prefill and decoding multiply by.
type packed struct {
	packing kernels.Packing
	slab    *exec.Slab
}

// Packings are those that [Weights.PackAs] knows; fp32 is none.
var Packings = []string{"fp32", kernels.PackBF16.String(), kernels.PackInt8.String()}

// PackAs is [Weights.Pack] by the packing's name; "fp32" and "" leave the weights as they are.
func (w *Weights) PackAs(name string) error {
	switch name {
	case "", "fp32":
		return nil
	case kernels.PackBF16.String():
		return w.Pack(kernels.PackBF16)
	case kernels.PackInt8.String():
		return w.Pack(kernels.PackInt8)
	}
	return fmt.Errorf("weights: no packing %q (have %v)", name, Packings)
}

// CannotPack is the error of [Weights.Pack] where no matrix can be packed.
type CannotPack struct {
	Packing kernels.Packing
	Device  string
}

func (e *CannotPack) Error() string {
	return fmt.Sprintf("none of the model's matrices can be packed as %s on %s: that wants rows of a multiple of %d weights (leave the weights as they are: --weights fp32)",
		e.Packing, e.Device, kernels.PackRun)
}

// Pack stores the matrices that sampling multiplies by, the head's too, in a packing beside the float32 ones, so that programs which
// [Net.PlanFor] plans read less, and rounds the float32 ones to what is stored: every program computes with the same weights. Biases, gains and
// position tables stay as they are, and so do matrices whose rows are no multiple of [kernels.PackRun] long. The cache of keys and values becomes
// bfloat16 with either packing, where the backend can; forward passes without a cache know nothing of that. Weights are packed once.
func (w *Weights) Pack(p kernels.Packing) error {
	if w.packed != nil {
		return fmt.Errorf("weights: they are packed as %s already", w.packed.packing)
	}
	names, err := w.packable(p)
	if err != nil {
		return fmt.Errorf("weights: %w", err)
	}
	if len(names) == 0 {
		return &CannotPack{p, w.be.Name()}
	}
	var stored []string
	var shapes [][]int
	for _, name := range names {
		m := w.Table[w.index[name]]
		for i, v := range p.Packed(m.Shape[0], m.Shape[1]) {
			stored, shapes = append(stored, exec.PackedNames(name, p)[i]), append(shapes, v.Shape)
		}
	}
	slab, err := exec.NewSlab(w.be, kernels.I32, stored, shapes)
	if err != nil {
		return fmt.Errorf("packed weights: %w", err)
	}
	views := slab.Views("")
	for _, name := range names {
		var out []kernels.View
		for _, n := range exec.PackedNames(name, p) {
			out = append(out, views[n])
		}
		if err := w.pack(p, w.Slab.View(w.index[name]), out); err != nil {
			return errors.Join(fmt.Errorf("pack %s: %w", name, err), slab.Free())
		}
	}
	w.packed = &packed{p, slab}
	return nil
}

// packable names the matrices that decoding can read packed.
func (w *Weights) packable(p kernels.Packing) ([]string, error) {
	net, err := Build(w.Config, Options{Mode: Cached, B: 1, T: 1})
	if err != nil {
		return nil, err
	}
	s, err := net.Spec(false)
	if err != nil {
		return nil, err
	}
	s.Packing = &p
	plan, err := exec.NewPlan(w.be, s)
	if err != nil {
		return nil, err
	}
	return plan.Packed(), nil
}

// pack packs a matrix and then rounds it.
func (w *Weights) pack(p kernels.Packing, matrix kernels.View, out []kernels.View) error {
	store, err := w.be.Bind(kernels.PackWeights{Packing: p}, kernels.Args{Out: out, In: []kernels.View{matrix}})
	if err != nil {
		return err
	}
	round, err := w.be.Bind(kernels.RoundWeights{Packing: p}, kernels.Args{Out: []kernels.View{matrix}, In: []kernels.View{matrix}})
	if err != nil {
		return err
	}
	return errors.Join(store(), round(), w.be.Sync())
}
