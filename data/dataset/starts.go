package dataset

import (
	"errors"
	"fmt"
	"io/fs"

	"prenorm/data/batch"
	"prenorm/data/corpus"
	"prenorm/data/shard"
	"prenorm/data/token"
)

// starts returns where the documents of a shard begin, of an earlier run where that was written down.
func (b *builder) starts(r *shard.Reader, side corpus.Side, t token.Tokenizer) (*shard.Starts, error) {
	s, err := shard.OpenStartsUnless(r, b.opt.Stop)
	if err == nil {
		return s, nil
	}
	if stopped := b.opt.Stop(); stopped != nil {
		return nil, stopped
	}
	if !errors.Is(err, fs.ErrNotExist) {
		b.opt.Log(fmt.Sprintf("%v", err))
	}
	stage := "finding documents of the " + side.String() + " text"
	list := func(add func(int64) error) error {
		return separators(r, t.Separator(), add, func(done int64) error {
			b.opt.Progress(stage, 2*done, 2*r.Len()) // in bytes, about
			return b.opt.Stop()
		})
	}
	switch {
	case t.Separator() >= 0:
	case b.imported != nil:
		list = func(add func(int64) error) error { return add(0) } // one document: nothing tells more
	default:
		list = func(add func(int64) error) error { return b.recount(stage, r, side, t, add) }
	}
	if err := shard.CreateStarts(r, list); err != nil {
		if stopped := b.opt.Stop(); stopped != nil {
			return nil, stopped
		}
		return nil, err
	}
	return shard.OpenStartsUnless(r, b.opt.Stop)
}

// separators finds the separators among tokens: the first token of all but the first document. block is told of the tokens read.
func separators(tokens batch.Tokens, separator int32, add, block func(int64) error) error {
	if err := add(0); err != nil {
		return err
	}
	ids := make([]int32, 1<<14)
	for at := int64(0); at < tokens.Len(); at += int64(len(ids)) {
		ids = ids[:min(int64(len(ids)), tokens.Len()-at)]
		if err := tokens.Read(ids, at); err != nil {
			return err
		}
		for i, id := range ids {
			if id == separator && at+int64(i) > 0 {
				if err := add(at + int64(i)); err != nil {
					return err
				}
			}
		}
		if err := block(at + int64(len(ids))); err != nil {
			return err
		}
	}
	return nil
}

// recount encodes a side once more to find where its documents begin, for a tokenizer without a separator.
func (b *builder) recount(stage string, r *shard.Reader, side corpus.Side, t token.Tokenizer, add func(int64) error) error {
	var at int64
	sum := &b.sums[side]
	e := encoder{tokenizer: t, want: sum, changed: func() error { return b.text.Changed(side) }, stop: never}
	e.progress = func(done int64) { b.opt.Progress(stage, done, sum.Bytes) }
	e.begin = func() error { return add(at) }
	e.emit = func(ids []int32) error {
		at += int64(len(ids))
		return b.opt.Stop()
	}
	err := e.run(b.text.Documents(side))
	if err == nil && at != r.Len() {
		err = b.text.Changed(side)
	}
	return err
}
