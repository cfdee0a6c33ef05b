package survey

import (
	"math"

	"prenorm/data/corpus"
	"prenorm/data/inorder"
)

// looks looks at all sources: at validation, at training, and at validation again.
func (s *surveyor) looks() error {
	looked := newSample(len(s.sources))
	if err := s.eachText(func(x *source) error { return s.valSide(x, looked) }); err != nil {
		return err
	}
	looked.freeze()
	if err := s.eachText(func(x *source) error { return s.trainSide(x, looked) }); err != nil {
		return err
	}
	return s.eachText(func(x *source) error { return s.overlap(x, looked) })
}

// eachText is each for the sources whose text is known.
func (s *surveyor) eachText(do func(*source) error) error {
	return s.each(func(x *source) error {
		if !x.Text {
			return nil
		}
		return do(x)
	})
}

// valSide looks at a validation text, and samples it.
func (s *surveyor) valSide(x *source, looked *sample) error {
	worker := func() inorder.Worker[seen] {
		return &firstLook{&looker{}, newGatherer(func(uint64) bool { return true }), nil}
	}
	_, err := s.side(x, corpus.Val, "looking at validation text", worker, func(_ string, d seen) { looked.add(d.hashes, d.bound) })
	return err
}

// trainSide looks at a training text for what is sampled, and keeps its end.
func (s *surveyor) trainSide(x *source, looked *sample) error {
	worker := func() inorder.Worker[seen] { return &firstLook{&looker{}, newGatherer(looked.has), looked} }
	end, err := s.side(x, corpus.Train, "looking at training text", worker, func(name string, d seen) { looked.mark(name, x.number, d.places) })
	if err != nil {
		return err
	}
	return s.tails.keep(end)
}

// side describes a side of a source, with what workers make for use besides. It returns the text's end.
func (s *surveyor) side(x *source, which corpus.Side, stage string, worker func() inorder.Worker[seen], use func(name string, d seen)) (end []byte, err error) {
	p, err := newPacker()
	if err != nil {
		return nil, err
	}
	defer p.end()
	side := &x.Train
	if which == corpus.Val {
		side = &x.Val
	}
	tally := newTally(side)
	err = documents(s, x, which, stage, worker, p.add, func(name string, size int64, d seen) {
		tally.add(size, d.look)
		use(name, d)
	})
	if err != nil {
		return nil, err
	}
	tally.finish()
	side.Packed, err = p.finish()
	return p.last(), err
}

// overlap goes through a validation text once more for what of it was found.
func (s *surveyor) overlap(x *source, looked *sample) error {
	end, err := s.tails.next()
	if err != nil {
		return err
	}
	behind, err := newGiven(end)
	if err != nil {
		return err
	}
	o, all := &x.Overlap, &s.out.Overlap
	o.Words, o.Sampled = GramWords, 1
	for b := looked.bound; b < math.MaxUint64; b = b<<1 | 1 {
		o.Sampled *= 2
	}
	worker := func() inorder.Worker[overlayCount] { return newCounting(looked) }
	err = documents(s, x, corpus.Val, "looking for validation text in training text", worker, behind.add, func(name string, _ int64, c overlayCount) {
		o.count(c)
		all.list(name, c, looked)
		for source, n := range c.in {
			x.found[source] += n
		}
	})
	if err != nil {
		return err
	}
	x.Val.Packed.ZstdGiven, err = behind.finish()
	all.trim(mostListed)
	return err
}
