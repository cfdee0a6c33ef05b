package survey

import (
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"prenorm/data/baseline"
	"prenorm/data/corpus"
	"prenorm/data/token"
)

// text is what a survey reads, again and again.
type text interface {
	Documents(corpus.Side) corpus.Documents
	Copies(near bool, use func(corpus.Copied), stays func(corpus.Stays)) (corpus.Compared, error)
	Close() error
}

// openIDs prepares the text that the ids of token files stand for, where their tokenizer is known, and says what cannot be known of it.
func (s *surveyor) openIDs(t token.Tokenizer, x *source) error {
	if _, unknown := t.(nameless); unknown {
		s.note(x, unknownNote(t.Vocab()))
		return nil
	}
	x.Text = true
	words := "The text is what the token ids stand for; where the documents came from, and what was left out of them, is not known. A document is named by its first id, counted from 0."
	if t.Separator() < 0 {
		words += fmt.Sprintf(" Tokenizer %s has no id between documents, so each side is one document.", t.Kind())
	} else {
		x.Train.Documents, x.Val.Documents = x.data.Stats.Train.Documents, x.data.Stats.Val.Documents
	}
	s.note(x, words)
	x.text = &decoded{name: x.name, ids: [2]baseline.Tokens{corpus.Train: x.data.Train, corpus.Val: x.data.Val}, tokenizer: t, stop: s.Stop}
	return nil
}

// decoded is the text of token ids: documents are what stands between separators. What there is of text may begin and end within a character.
type decoded struct {
	name      string             // of the source, "" for the only one
	ids       [2]baseline.Tokens // by side
	tokenizer token.Tokenizer
	stop      func() error
}

// How many ids are read at once, and how many bytes of a document that goes on make a stretch; tests make both smaller.
var (
	idsBlock = 1 << 16
	stretch  = 1 << 20
)

// Close implements text.
func (d *decoded) Close() error { return nil }

// Copies implements text, with the documents of validation first.
func (d *decoded) Copies(near bool, use func(corpus.Copied), stays func(corpus.Stays)) (corpus.Compared, error) {
	return corpus.CopiesAmong(func(yield func(corpus.Document, error) bool) {
		for _, side := range []corpus.Side{corpus.Val, corpus.Train} {
			for document, err := range d.Documents(side) {
				if !yield(document, err) {
					return
				}
			}
		}
	}, near, use, stays)
}

// Documents implements text. How long a document will be is not known while it comes in stretches: Rest says no more than that there is more.
func (d *decoded) Documents(side corpus.Side) corpus.Documents {
	return func(yield func(corpus.Document, error) bool) {
		c := &cutter{name: strings.TrimSpace(d.name + " " + side.String() + " ids from "), yield: yield}
		err := d.read(side, c)
		if err == nil {
			c.end()
		} else if !c.stopped {
			yield(corpus.Document{}, err)
		}
	}
}

// read gives a side's text to a cutter, up to its last document's end.
func (d *decoded) read(side corpus.Side, c *cutter) error {
	separator := d.tokenizer.Separator()
	var raw []byte
	for at, ids := range blocks(d.ids[side]) {
		if err := d.stop(); err != nil {
			return err
		}
		if err := d.ids[side].Read(ids, at); err != nil {
			return err
		}
		for start := 0; start < len(ids); {
			end := start
			for end < len(ids) && ids[end] != separator {
				end++
			}
			var err error
			if raw, err = d.tokenizer.Decode(raw[:0], ids[start:end]...); err != nil {
				return err
			}
			if c.add(raw, at+int64(start)); end < len(ids) {
				c.end()
			}
			if start = end + 1; c.stopped {
				return errStopped
			}
		}
	}
	return nil
}

var errStopped = fmt.Errorf("enough was seen")

// blocks yields room for the ids of a text, and the number of the first.
func blocks(text baseline.Tokens) iter.Seq2[int64, []int32] {
	return func(yield func(int64, []int32) bool) {
		ids := make([]int32, idsBlock)
		for at := int64(0); at < text.Len(); at += int64(len(ids)) {
			if ids = ids[:min(int64(len(ids)), text.Len()-at)]; !yield(at, ids) {
				return
			}
		}
	}
}

// cutter makes documents of text that comes in pieces.
type cutter struct {
	name    string // of a document, but for the number of its first id
	yield   func(corpus.Document, error) bool
	next    corpus.Document // that is gathered; its Text is the caller's once it was yielded
	offset  int64
	stopped bool
}

// add appends text to the document at hand, which begins with it at the id of that number if there is none.
func (c *cutter) add(text []byte, id int64) {
	if len(text) == 0 || c.stopped {
		return
	}
	if c.next.Name == "" {
		c.next.Name = fmt.Sprint(c.name, " ", id)
	}
	if len(c.next.Text) >= stretch {
		c.hand(whole(c.next.Text), 1)
	}
	c.next.Text = append(c.next.Text, text...)
}

// end ends the document at hand, if there is one.
func (c *cutter) end() {
	if c.next.Name != "" && !c.stopped {
		c.hand(len(c.next.Text), 0)
	}
	c.next, c.offset = corpus.Document{}, 0
}

// hand yields the first n bytes of what was gathered.
func (c *cutter) hand(n int, rest int64) {
	d := c.next
	left := append([]byte(nil), d.Text[n:]...)
	d.Text, d.Rest, d.Offset = d.Text[:n:n], rest, c.offset
	c.offset += int64(n)
	c.stopped = !c.yield(d, nil)
	c.next.Text, c.next.Continues = left, true
}

// whole is how much of a text remains when a character that is not whole is left off its end.
func whole(text []byte) int {
	for n := len(text) - 1; n >= max(0, len(text)-utf8.UTFMax); n-- {
		if utf8.RuneStart(text[n]) {
			if utf8.FullRune(text[n:]) {
				break
			}
			return n
		}
	}
	return len(text)
}
