package sample

import (
	"context"
	"errors"
	"fmt"

	"prenorm/kernels"
	"prenorm/model"
	"prenorm/model/exec"
)

// GroupSize is the largest number of sequences of a [Group]: up to it, what a sequence is does not depend on those beside it.
const GroupSize = 8

// Group writes several sequences after one prompt side by side, so that the weights are read once for a token of each. It is not safe for
// concurrent use.
type Group struct {
	cache  *exec.Slab
	lanes  []*Generator
	decode *pass // of all lanes; nil for one
	tokens []int32
	logits []float32 // [lanes, V]
	boxed  any       // logits
}

// NewGroup is [New] for up to n sequences, from 1 to [GroupSize]. Where the weights are on a device, the sequences are written one after the other.
func NewGroup(w *model.Weights, o GeneratorOptions, n int) (*Group, error) {
	if n < 1 || n > GroupSize {
		return nil, fmt.Errorf("sample: a group of %d sequences (1 to %d)", n, GroupSize)
	}
	if kernels.OnDevice(w.Backend()) {
		n = 1
	}
	g := &Group{tokens: make([]int32, n), logits: make([]float32, n*w.Config.Vocab)}
	g.boxed = g.logits
	if err := g.build(w, o, n); err != nil {
		return nil, errors.Join(fmt.Errorf("sample: %w", err), g.Free())
	}
	return g, nil
}

func (g *Group) build(w *model.Weights, o GeneratorOptions, n int) (err error) {
	if g.cache, err = newCache(w, n); err != nil {
		return err
	}
	all := g.cache.Views("")
	for i := range n {
		lane, err := emptyGenerator(w, o)
		if err != nil {
			return err
		}
		g.lanes = append(g.lanes, lane)
		own := make(map[string]kernels.View, len(all))
		for name, v := range all {
			own[name] = v.Part(i*w.Config.Context, (i+1)*w.Config.Context)
		}
		if err := lane.passes(w, own); err != nil {
			return err
		}
	}
	if n > 1 {
		g.decode, err = newPass(w, n, 1, all)
	}
	return err
}

// Size is the number of sequences that are written side by side.
func (g *Group) Size() int { return len(g.lanes) }

// Generate is [Generator.Generate] for sequences first … first+count-1, of which there are at most [Group.Size]. emit gets the number of the
// sequence with each id; a sequence that it ends costs the others nothing.
func (g *Group) Generate(ctx context.Context, prompt []int32, n int, s *Sampler, first, count int, emit func(sequence int, id int32) (stop bool, err error)) error {
	if count < 1 || count > len(g.lanes) {
		return fmt.Errorf("sample: %d sequences in a group of %d", count, len(g.lanes))
	}
	if count == 1 {
		return g.lanes[0].Generate(ctx, prompt, n, s, first, func(id int32) (bool, error) { return emit(first, id) })
	}
	if n < 0 {
		return fmt.Errorf("sample: %d new tokens (0 or more)", n)
	}
	running := make([]int, count) // lanes
	for i := range running {
		running[i] = i
		g.lanes[i].remote, g.lanes[i].inPlace = false, false
		if err := g.lanes[i].start(ctx, prompt); err != nil {
			return err
		}
	}
	for i := 0; i < n && len(running) > 0; i++ {
		left := running[:0]
		for _, lane := range running {
			id, err := g.lanes[lane].next(s, first+lane, len(prompt)+i)
			if err != nil {
				return err
			}
			stop, err := emit(first+lane, id)
			if err != nil {
				return g.failed(err, first+lane, len(prompt)+i)
			}
			if !stop {
				g.tokens[lane] = id
				left = append(left, lane)
			}
		}
		running = left
		if i+1 < n {
			if err := g.advance(ctx, running); err != nil {
				return g.failed(err, first+running[0], len(prompt)+i)
			}
		}
	}
	return nil
}

func (g *Group) failed(err error, sequence, position int) error {
	return fmt.Errorf("sample: sequence %d, after the id at position %d: %w", sequence, position, err)
}

// advance has the lanes read their tokens. Their windows are of one length: they began with one prompt.
func (g *Group) advance(ctx context.Context, lanes []int) error {
	if len(lanes) == 0 {
		return nil
	}
	at := len(g.lanes[lanes[0]].window)
	if len(lanes) == 1 || at == g.lanes[lanes[0]].config.Context {
		for _, lane := range lanes {
			if err := g.lanes[lane].advance(ctx, g.tokens[lane]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := g.decode.runAll(g.tokens, at); err != nil {
		return err
	}
	if err := g.decode.program.Get(model.OutLogits, g.boxed); err != nil {
		return err
	}
	vocab := len(g.logits) / len(g.lanes)
	for _, lane := range lanes {
		l := g.lanes[lane]
		l.window = append(l.window, g.tokens[lane])
		copy(l.logits, g.logits[lane*vocab:])
	}
	return nil
}

// Free releases the cache and the programs. The weights stay.
func (g *Group) Free() error {
	err := g.decode.free()
	for _, lane := range g.lanes {
		err = errors.Join(err, lane.Free())
	}
	if g.cache != nil {
		err = errors.Join(err, g.cache.Free())
	}
	g.lanes, g.decode, g.cache = nil, nil, nil
	return err
}
