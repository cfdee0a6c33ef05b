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
	sum := &b.sums[side]
	e := encoder{tokenizer: t, want: sum, emit: w.Append, stop: b.opt.Stop}
	e.progress = func(done int64) { b.opt.Progress("encoding "+side.String()+" text", done, sum.Bytes) }
	e.mark = func(p position) error {
		p.Verified = e.verify
		note, err := json.Marshal(p)
		if err != nil {
			return err
		}
		return w.Checkpoint(note)
	}
	if note != nil {
		e.from = &position{}
		if err := json.Unmarshal(note, e.from); err != nil {
			return false, errElsewhere
		}
		b.log(fmt.Sprintf("encoding %s text: going on after %.0f%%, where an earlier run was stopped", side, 100*float64(e.from.Bytes)/float64(max(sum.Bytes, 1))))
	}
	e.verify = b.cfg.Verify && (e.from == nil || e.from.Verified) // what follows a part that was not is proved with it, once all is written
	err = e.run(b.text.Documents(side))
	switch {
	case err == nil:
		return e.verify, w.Commit()
	case b.opt.Stop() != nil:
		w.Suspend()
	}
	return false, err
}
