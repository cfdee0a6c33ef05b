package sample

import (
	"errors"
	"fmt"
	"maps"

	"prenorm/kernels"
	"prenorm/model"
	"prenorm/model/exec"
)

// pass is a program that adds T rows of B sequences to the cache, with the memory of its inputs. T is 1 for decoding.
type pass struct {
	program           *exec.Program
	tokens, positions []int32 // [B*T]
	position, row     []int32 // [1], [B]
	inputs            []input
	logits            []float32 // [B*V] where the program leaves them, nil on a device and in other types
}

// input is a named slice. It is boxed once, so that a run allocates nothing.
type input struct {
	name string
	data any
}

// newPass compiles and binds the network of mode Cached for b sequences of t rows, on a cache.
func newPass(w *model.Weights, b, t int, cache map[string]kernels.View) (*pass, error) {
	net, err := model.Build(w.Config, model.Options{Mode: model.Cached, B: b, T: t})
	if err != nil {
		return nil, err
	}
	plan, err := net.PlanFor(w)
	if err != nil {
		return nil, err
	}
	memory := w.Views()
	maps.Copy(memory, cache)
	p := &pass{tokens: make([]int32, b*t), positions: make([]int32, b*t), position: make([]int32, 1), row: make([]int32, b)}
	p.inputs = []input{{model.InTokens, p.tokens}, {model.InPositions, p.positions}, {model.InPosition, p.position}, {model.InRow, p.row}}
	if p.program, err = plan.Bind(memory); err != nil {
		return p, err
	}
	logits, err := p.program.View(model.OutLogits)
	if err == nil && logits.Host != nil && logits.DType == kernels.F32 {
		p.logits = logits.F32()
	}
	return p, err
}

// run feeds 1 to T ids of a single sequence that follow at rows of the cache; at+T is at most the context.
//
// Rows of the pass beyond the ids are padding. What they write to the cache is never seen: causality hides rows after the last id, and the
// next pass starts by writing over them.
func (p *pass) run(ids []int32, at int) error {
	clear(p.tokens[copy(p.tokens, ids):])
	for t := range p.positions {
		p.positions[t] = int32(at + t)
	}
	p.position[0], p.row[0] = int32(at), int32(len(ids)-1)
	return p.launch()
}

// runAll feeds one id of every sequence, all at the same row of the cache.
func (p *pass) runAll(ids []int32, at int) error {
	copy(p.tokens, ids)
	p.position[0] = int32(at)
	for b := range p.positions {
		p.positions[b], p.row[b] = int32(at), int32(b)
	}
	return p.launch()
}

func (p *pass) launch() error {
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

// newCache allocates the keys and values of b sequences, by name, in the type that programs on w want. Rows of each lie together.
func newCache(w *model.Weights, b int) (*exec.Slab, error) {
	net, err := model.Build(w.Config, model.Options{Mode: model.Cached, B: b, T: 1})
	if err != nil {
		return nil, err
	}
	plan, err := net.PlanFor(w)
	if err != nil {
		return nil, err
	}
	var names []string
	var shapes [][]int
	for _, s := range net.Graph.States() {
		names, shapes = append(names, s.Name), append(shapes, s.Node.Shape())
	}
	cache, err := exec.NewSlab(w.Backend(), plan.CacheType(), names, shapes)
	if err != nil {
		return nil, fmt.Errorf("cache of keys and values: %w", err)
	}
	return cache, nil
}

// passes builds the programs of prefill and decode over a cache of one sequence.
func (g *Generator) passes(w *model.Weights, cache map[string]kernels.View) (err error) {
	if g.prefill, err = newPass(w, 1, g.options.Prefill, cache); err != nil {
		return err
	}
	if g.decode, err = newPass(w, 1, 1, cache); err != nil {
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
