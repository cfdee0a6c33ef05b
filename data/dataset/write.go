package dataset

import (
	"encoding/json"
	"errors"
	"fmt"

	"prenorm/data/corpus"
	"prenorm/data/shard"
	"prenorm/data/token"
)

// writeShard encodes one side. Where an earlier process was stopped in the middle of it, this one goes on.
func (b *builder) writeShard(path string, meta shard.Meta, side corpus.Side, t token.Tokenizer) error {
	for {
		w, note, err := shard.Continue(path, meta)
		if err != nil {
			return err
		}
		proved, err := b.fill(w, note, side, t)
		switch {
		case err == nil && proved:
			return b.verified(path)
		case err == nil:
			return b.verify(path, side, t) // it does nothing unless that is asked for
		case !errors.Is(err, errElsewhere):
			return err
		}
		// The next is a new one: giving this one up removed it.
		b.log(fmt.Sprintf("%s was left unfinished with another text, the text is encoded from its start", path))
	}
}

// fill writes the rest of a shard. note is where the writer stands, nil for its start. proved says that all text came back from the ids, also
// what earlier processes encoded.
func (b *builder) fill(w *shard.Writer, note []byte, side corpus.Side, t token.Tokenizer) (proved bool, err error) {
	defer w.Abort()
	sum, stage := &b.sums[side], "encoding "+side.String()+" text"
	var done, kept int64 // bytes of text: encoded, and marked
	e := encoder{tokenizer: t, want: sum, changed: func() error { return b.text.Changed(side) }, emit: w.Append, stop: b.opt.Stop}
	e.progress = func(now int64) {
		done = now
		b.opt.Progress(stage, done, sum.Bytes)
	}
	e.mark = func(p position) error {
		p.Verified = e.verify
		note, err := json.Marshal(p)
		if err != nil {
			return err
		}
		if err := w.Checkpoint(note); err != nil {
			return err
		}
		kept = p.Bytes
		return nil
	}
	if note != nil {
		e.from = &position{}
		if err := json.Unmarshal(note, e.from); err != nil {
			return false, errElsewhere
		}
		done, kept = e.from.Bytes, e.from.Bytes
		b.log(fmt.Sprintf("%s: going on after %.0f%%, where an earlier run was stopped", stage, 100*float64(kept)/float64(max(sum.Bytes, 1))))
	}
	e.verify = b.cfg.Verify && (e.from == nil || e.from.Verified) // what follows a part that was not is proved with it, once all is written
	if err = e.run(b.text.Documents(side)); err == nil {
		err = w.Commit()
	}
	switch {
	case err == nil:
		return e.verify, nil
	case w.Failed():
		return false, b.suspended(w, err, stage, t, done, kept, sum.Bytes)
	case b.opt.Stop() != nil:
		w.Suspend()
	}
	return false, err
}
