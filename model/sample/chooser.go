package sample

import (
	"math"

	"prenorm/kernels"
	"prenorm/model"
)

// chooser chooses ids where the logits are, so that a token costs the download of an id and not of all logits.
type chooser struct {
	be                kernels.Backend
	vocab             int // how many ids may be chosen
	arena             kernels.Arena
	place, id, work   kernels.View
	hostPlace, hostID []int32
	boxed             [2]any // both, so that a choice allocates nothing
	call              kernels.SampleTokens
	bound             map[*pass]kernels.Launch // of call, to the logits of each pass
}

// The places in a chooser's memory, on lines of their own.
const placeAt, idAt, workAt = 0, 64, 128

// chooserWork is the workspace of a choice among the ids of a model.
func chooserWork(be kernels.Backend, vocab int) (int, error) {
	return be.Workspace(kernels.SampleTokens{}, kernels.Args{
		Out: []kernels.View{kernels.Shaped(kernels.I32, 1)},
		In:  []kernels.View{kernels.Shaped(kernels.F32, 1, vocab), kernels.Shaped(kernels.I32, 1, 2)},
	})
}

// ChoiceBytes is the memory on a device by which ids are chosen there, for a model's vocabulary; 0 on the host.
func ChoiceBytes(be kernels.Backend, vocab int) (int, error) {
	if !kernels.OnDevice(be) {
		return 0, nil
	}
	work, err := chooserWork(be, vocab)
	return workAt + work, err
}

// newChooser allocates a chooser among the first ids of a model with a vocabulary.
func newChooser(be kernels.Backend, first, vocab int) (*chooser, error) {
	c := &chooser{be: be, vocab: first, hostPlace: make([]int32, 2), hostID: make([]int32, 1)}
	c.boxed = [2]any{c.hostPlace, c.hostID}
	work, err := chooserWork(be, vocab)
	if err != nil {
		return nil, err
	}
	if c.arena, err = be.NewArena(workAt + work); err != nil {
		return nil, err
	}
	c.place, c.id = c.arena.View(placeAt, kernels.I32, 1, 2), c.arena.View(idAt, kernels.I32, 1)
	c.work = c.arena.View(workAt, kernels.I8, work)
	return c, nil
}

// serves says whether ids can be chosen on the backend: the call knows no repetition penalty, and numbers of 32 bits only.
func (c *chooser) serves(o Options, sequence, last int) bool {
	return c != nil && (o.RepetitionPenalty == 0 || o.RepetitionPenalty == 1) && int(int32(sequence)) == sequence && last >= 0 && last <= math.MaxInt32
}

// next is [Sampler.Next] for the logits that a pass left on the backend.
func (c *chooser) next(p *pass, o Options, sequence, position int) (int32, error) {
	launch, err := c.bind(p, kernels.SampleTokens{Temperature: o.Temperature, TopK: o.TopK, TopP: o.TopP, MinP: o.MinP, Seed: o.Seed})
	if err != nil {
		return 0, err
	}
	c.hostPlace[0], c.hostPlace[1] = int32(sequence), int32(position)
	if err := c.be.Upload(c.place, c.boxed[0]); err != nil {
		return 0, err
	}
	if err := launch(); err != nil {
		return 0, err
	}
	err = c.be.Download(c.boxed[1], c.id)
	return c.hostID[0], err
}

// bind binds a call to the logits of a pass, where it is not bound yet.
func (c *chooser) bind(p *pass, call kernels.SampleTokens) (kernels.Launch, error) {
	if call != c.call || c.bound == nil {
		c.call, c.bound = call, map[*pass]kernels.Launch{}
	}
	if launch := c.bound[p]; launch != nil {
		return launch, nil
	}
	logits, err := p.program.View(model.OutLogits)
	if err != nil {
		return nil, err
	}
	logits.Shape = []int{1, c.vocab} // the first of them
	launch, err := c.be.Bind(call, kernels.Args{Out: []kernels.View{c.id}, In: []kernels.View{logits, c.place}, Work: c.work})
	if err == nil {
		c.bound[p] = launch
	}
	return launch, err
}

func (c *chooser) free() error {
	if c == nil {
		return nil
	}
	return c.arena.Free()
}

// choosers gives the generator a chooser where the logits are on a device: on the host they are read where they lie.
func (g *Generator) choosers(be kernels.Backend, vocab int) error {
	if !kernels.OnDevice(be) {
		return nil
	}
	var err error
	g.chooser, err = newChooser(be, g.options.Vocab, vocab)
	return err
}

// next chooses the id that follows what has been read.
func (g *Generator) next(s *Sampler, sequence, position int) (int32, error) {
	if g.inPlace {
		if id, finite := g.finder.Largest(g.read.logits[:g.options.Vocab]); finite {
			return int32(id), nil
		}
		copy(g.logits, g.read.logits) // the sampler says what is wrong
	}
	if !g.remote {
		return s.Next(g.logits[:g.options.Vocab], g.window, sequence, position)
	}
	id, err := g.chooser.next(g.read, s.options, sequence, position)
	return id, placed(err, sequence, position)
}
