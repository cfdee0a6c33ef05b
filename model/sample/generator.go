// Package sample writes with a trained model: a [Sampler] chooses the next id from logits, a [Generator] runs the model over a prompt and
// what came after it, with keys and values in a cache. Token ids go in and come out; decoding text is the caller's.
package sample

import (
	"context"
	"errors"
	"fmt"

	"prenorm/configs/problem"
	"prenorm/kernels"
	"prenorm/model"
	"prenorm/model/exec"
)

// What happens when the context is full, see [GeneratorOptions].
const (
	Slide = "slide"
	Stop  = "stop"
)

// ErrContextFull is the error of a generator whose context is full and that may not slide.
var ErrContextFull = errors.New("the context is full")

// GeneratorOptions shape a generator.
type GeneratorOptions struct {
	// Prefill is how many tokens of a prompt the model reads in one pass, at most the context. 0 = 64, or the context where that is less.
	Prefill int
	// Overflow says what happens when a token is to be read and the model has read context tokens already:
	//
	//	slide  the oldest context/2 of them (at least one) are dropped, and the rest and the new one are read again at positions from 0.
	//	       Of a prompt longer than the context the last context tokens are read.
	//	stop   generating ends with [ErrContextFull], as does a prompt longer than the context.
	//
	// A model may read its whole context before this happens: the id that follows context tokens is still chosen from all of them.
	// Empty = slide.
	Overflow string
	// Vocab is how many ids may be chosen, from 0 on: the tokenizer's, where the model's vocabulary was made larger. 0 = all.
	Vocab int
}

// DefaultPrefill is how many tokens of a prompt are read in one pass, where the context is not shorter.
const DefaultPrefill = 64

// Problems returns every rule that o breaks for a model of the given context and vocabulary.
func (o GeneratorOptions) Problems(context, vocab int) problem.List {
	var l problem.List
	l.Whole("prefill", o.Prefill, 0, context)
	l.Whole("vocab", o.Vocab, 0, vocab)
	if o.Overflow != "" {
		l.OneOf("overflow", o.Overflow, Slide, Stop)
	}
	return l
}

// Generator runs a model token by token: the keys and values of what it has read are kept, so that a new token costs one row. It is not safe
// for concurrent use.
type Generator struct {
	config          model.Config
	options         GeneratorOptions
	cache           *exec.Slab // nil where it is that of a [Group]
	prefill, decode *pass
	window          []int32        // the tokens whose keys and values are in the cache, at most config.Context
	read            *pass          // the one that read the end of the window
	remote          bool           // whether ids are chosen on the backend, and logits stay there
	finder          kernels.Finder // nil = none
	inPlace         bool           // whether the likeliest id is found where a pass left its logits
	logits          []float32      // [V], what follows the window, unless they are left where they are
	boxed           any            // logits
	chooser         *chooser       // nil = ids are chosen on the host
}

// New compiles the model's programs for prefill and decode and allocates the cache, on the weights' backend. The weights are shared: a
// later training step shows in the next Generate.
func New(w *model.Weights, o GeneratorOptions) (*Generator, error) {
	g, err := emptyGenerator(w, o)
	if err != nil {
		return nil, fmt.Errorf("sample: %w", err)
	}
	if g.cache, err = newCache(w, 1); err == nil {
		err = g.passes(w, g.cache.Views(""))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sample: %w", err), g.Free())
	}
	return g, nil
}

// emptyGenerator is a generator without a cache and programs.
func emptyGenerator(w *model.Weights, o GeneratorOptions) (*Generator, error) {
	c := w.Config
	if err := o.Problems(c.Context, c.Vocab).Err(); err != nil {
		return nil, err
	}
	if o.Prefill == 0 {
		o.Prefill = min(DefaultPrefill, c.Context)
	}
	if o.Vocab == 0 {
		o.Vocab = c.Vocab
	}
	g := &Generator{config: c, options: o, window: make([]int32, 0, c.Context), logits: make([]float32, c.Vocab)}
	g.boxed = g.logits
	g.finder, _ = w.Backend().(kernels.Finder)
	return g, nil
}

// Generate reads the prompt, of at least one token, and hands up to n new ids to emit, which may end it early and must not call the
// generator. The ids depend on the weights, the prompt, the sampler's options and the number of the sequence only; the new ids are at
// positions len(prompt) and up of it.
// The repetition penalty sees the tokens that the model sees: those of the prompt and of the new ones that have not been dropped. Errors
// of emit and of ctx, which is looked at before every pass of the model, come back wrapped. Decoding a token allocates nothing.
func (g *Generator) Generate(ctx context.Context, prompt []int32, n int, s *Sampler, sequence int, emit func(id int32) (stop bool, err error)) error {
	if n < 0 {
		return fmt.Errorf("sample: %d new tokens (0 or more)", n)
	}
	g.remote = g.chooser.serves(s.options, sequence, len(prompt)+n)
	g.inPlace = !g.remote && g.finder != nil && g.decode != nil && g.decode.logits != nil && s.greedy()
	if err := g.start(ctx, prompt); err != nil {
		return err
	}
	for i := range n {
		position := len(prompt) + i
		id, err := g.next(s, sequence, position)
		if err != nil {
			return err
		}
		stop, err := emit(id)
		if err == nil && !stop && i+1 < n {
			err = g.advance(ctx, id)
		}
		if err != nil {
			return fmt.Errorf("sample: sequence %d, after the id at position %d: %w", sequence, position, err)
		}
		if stop {
			return nil
		}
	}
	return nil
}

// Logits returns the logits [V] of the id that follows the prompt.
func (g *Generator) Logits(prompt []int32) ([]float32, error) {
	g.remote, g.inPlace = false, false
	if err := g.start(context.Background(), prompt); err != nil {
		return nil, err
	}
	return append([]float32(nil), g.logits...), nil
}

// start reads a prompt into the empty cache.
func (g *Generator) start(ctx context.Context, prompt []int32) error {
	if g.decode == nil {
		return fmt.Errorf("sample: the generator has been freed")
	}
	if len(prompt) == 0 {
		return fmt.Errorf("sample: the prompt is empty and the model needs at least one token to go on from (give a separator or a line break)")
	}
	for i, id := range prompt {
		if id < 0 || int(id) >= g.config.Vocab {
			return fmt.Errorf("sample: token %d of the prompt is %d, outside [0, %d), the model's vocabulary (was it made by another tokenizer?)", i, id, g.config.Vocab)
		}
	}
	if over := len(prompt) - g.config.Context; over > 0 {
		if g.options.Overflow == Stop {
			return fmt.Errorf("sample: the prompt has %d tokens: %w at %d (shorten the prompt, or let overflow be slide)", len(prompt), ErrContextFull, g.config.Context)
		}
		prompt = prompt[over:]
	}
	g.window = append(g.window[:0], prompt...)
	if err := g.readWindow(ctx); err != nil {
		return fmt.Errorf("sample: read the prompt: %w", err)
	}
	return nil
}

// advance reads one more token, after making room for it where there is none.
func (g *Generator) advance(ctx context.Context, id int32) error {
	if len(g.window) < g.config.Context {
		g.window = append(g.window, id)
		return g.run(ctx, g.decode, len(g.window)-1)
	}
	return g.slide(ctx, id)
}

// slide reads one more token where the window is full.
func (g *Generator) slide(ctx context.Context, id int32) error {
	size := g.config.Context
	if g.options.Overflow == Stop {
		return fmt.Errorf("%w at %d tokens (ask for fewer, or let overflow be slide)", ErrContextFull, size)
	}
	g.window = append(g.window[:0], g.window[max(1, size/2):]...)
	g.window = append(g.window, id)
	return g.readWindow(ctx)
}

// readWindow fills the cache from row 0, pass by pass.
func (g *Generator) readWindow(ctx context.Context) error {
	for at := 0; at < len(g.window); at += g.options.Prefill {
		if err := g.run(ctx, g.prefill, at); err != nil {
			return err
		}
	}
	return nil
}

// run feeds the tokens of the window from row at on, as many as the pass takes, and fetches the logits when they are the last and wanted. A pass that
// would reach past the context starts earlier instead and reads some tokens twice: every row has a place in the cache and a position.
func (g *Generator) run(ctx context.Context, p *pass, at int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	at = min(at, g.config.Context-len(p.tokens))
	end := min(at+len(p.tokens), len(g.window))
	if err := p.run(g.window[at:end], at); err != nil {
		return err
	}
	g.read = p
	if end < len(g.window) || g.remote || g.inPlace {
		return nil
	}
	return p.program.Get(model.OutLogits, g.boxed)
}
