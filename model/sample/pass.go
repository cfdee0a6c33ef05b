package sample

import (
	"errors"
	"fmt"

	"prenorm/kernels"
	"prenorm/model"
	"prenorm/model/exec"
)

// pass is a program that adds T rows to the cache, with the memory of its inputs. T is 1 for decoding.
type pass struct {
	program           *exec.Program
	tokens, positions []int32 // [T]
	position, row     []int32 // [1]
	inputs            []input
}

// input is a named slice. It is boxed once, so that a run allocates nothing.
type input struct {
	name string
	data any
}

// newPass compiles and binds a network of mode Cached and one sequence.
func newPass(net *model.Net, w *model.Weights, cache *exec.Slab) (*pass, error) {
	plan, err := net.PlanFor(w)
	if err != nil {
		return nil, err
	}
	memory := w.Views()
	for name, v := range cache.Views("") {
		memory[name] = v
	}
	p := &pass{tokens: make([]int32, net.T), positions: make([]int32, net.T), position: make([]int32, 1), row: make([]int32, 1)}
	p.inputs = []input{{model.InTokens, p.tokens}, {model.InPositions, p.positions}, {model.InPosition, p.position}, {model.InRow, p.row}}
	p.program, err = plan.Bind(memory)
	return p, err
}

// run feeds 1 to T ids that follow at rows of the cache; at+T is at most the context.
//
// Rows of the pass beyond the ids are padding. What they write to the cache is never seen: causality hides rows after the last id, and the
// next pass starts by writing over them.
func (p *pass) run(ids []int32, at int) error {
	clear(p.tokens[copy(p.tokens, ids):])
	for t := range p.positions {
		p.positions[t] = int32(at + t)
	}
	p.position[0], p.row[0] = int32(at), int32(len(ids)-1)
	for _, in := range p.inputs {
		if err := p.program.Set(in.name, in.data); err != nil {
			return err
		}
	}
	return p.program.Run()
}

func (p *pass) free() error {
	if p == nil || p.program == nil {
		return nil
	}
	return p.program.Free()
}

// passes builds the programs of prefill and decode over one new cache of keys and values.
func (g *Generator) passes(w *model.Weights) error {
	prefill, err := model.Build(w.Config, model.Options{Mode: model.Cached, B: 1, T: g.options.Prefill})
	if err != nil {
		return err
	}
	decode, err := model.Build(w.Config, model.Options{Mode: model.Cached, B: 1, T: 1})
	if err != nil {
		return err
	}
	var names []string
	var shapes [][]int
	for _, s := range decode.Graph.States() {
		names, shapes = append(names, s.Name), append(shapes, s.Node.Shape())
	}
	if g.cache, err = exec.NewSlab(w.Backend(), kernels.F32, names, shapes); err != nil {
		return fmt.Errorf("cache of keys and values: %w", err)
	}
	if g.prefill, err = newPass(prefill, w, g.cache); err != nil {
		return err
	}
	if g.decode, err = newPass(decode, w, g.cache); err != nil {
		return err
	}
	return g.choosers(w.Backend(), w.Config.Vocab)
}

// Free releases the cache and the programs. The weights stay.
func (g *Generator) Free() error {
	err := errors.Join(g.prefill.free(), g.decode.free(), g.chooser.free())
	if g.cache != nil {
		err = errors.Join(err, g.cache.Free())
	}
	g.prefill, g.decode, g.cache, g.chooser = nil, nil, nil, nil
	return err
}
