package corpus

import (
	"bytes"
	"io"
)

// text reads a member as one document, in stretches if it is long.
func (r *reading) text(m member, emit func(chunk) error) error {
	in, err := decode(m)
	if err != nil {
		return err
	}
	t := textReader{in: in, clean: cleaner{policy: r.policy, name: m.name, lines: true, offset: in.skipped, hint: in.hint}, raw: make([]byte, 0, m.block())}
	room := min(m.size, int64(most+blockSize))
	next := chunk{name: m.name}
	for {
		text, err := t.next(int(max(room, 0)))
		if err != nil {
			return err
		}
		next.text, next.more = text, !t.ended()
		if len(text) > 0 || next.continues {
			if err := emit(next); err != nil {
				return err
			}
		}
		if !next.more {
			return nil
		}
		next.continues, room = true, int64(most+blockSize)
	}
}

// textReader reads a text in stretches of whole characters.
type textReader struct {
	in    io.Reader
	clean cleaner
	raw   []byte // read but not cleaned yet
	last  bool   // nothing comes after raw
}

// next returns the next most bytes, and up to what a block becomes more; fewer only at the end. room is how many are expected, as far as that is
// known: memory for others is given once they are there, and what is left over of it is given back, because a text lives on in who gets it.
func (t *textReader) next(room int) ([]byte, error) {
	text := make([]byte, 0, room)
	for len(text) < most && !t.ended() {
		if err := t.fill(); err != nil {
			return nil, err
		}
		var used int
		var err error
		if text, used, err = t.clean.clean(text, t.raw, t.last); err != nil {
			return nil, err
		}
		t.raw = t.raw[:copy(t.raw, t.raw[used:])]
	}
	if err := t.peek(); err != nil {
		return nil, err
	}
	if cap(text)-len(text) > len(text)/4 {
		text = bytes.Clone(text)
	}
	return text, nil
}

// fill reads up to a block behind what is left of the last.
func (t *textReader) fill() error {
	if t.last || len(t.raw) == cap(t.raw) {
		return nil
	}
	n, err := io.ReadAtLeast(t.in, t.raw[len(t.raw):cap(t.raw)], 1)
	t.raw = t.raw[:len(t.raw)+n]
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		t.last, err = true, nil
	}
	return err
}

// peek reads on where nothing is left, so that the end is known when it is there.
func (t *textReader) peek() error {
	if len(t.raw) > 0 {
		return nil
	}
	return t.fill()
}

// ended says whether all text was returned.
func (t *textReader) ended() bool { return t.last && len(t.raw) == 0 }
