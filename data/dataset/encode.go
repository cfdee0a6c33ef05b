package dataset

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"prenorm/data/batch"
	"prenorm/data/corpus"
	"prenorm/data/token"
)

// Documents are encoded in pieces of about pieceSize bytes, and so many pieces at a time that they have waveSize bytes. Neither depends
// on the number of cores, and the ids do not depend on either (see [token.Cut]).
const (
	pieceSize = 256 << 10
	waveSize  = 4 << 20
)

// piece is a part of a document on its way through the tokenizer.
type piece struct {
	document corpus.Document
	text     []byte
	at       int  // where text starts in the document's text
	first    bool // it starts a document other than the first
	ids      []int32
	back     []byte // what the ids decode to, where that is to be proved
	lost     int    // where that differs from text, with errLost
	err      error
}

// encode hands the ids of all documents to emit, in order, with the tokenizer's separator, if it has one, between documents. progress
// is told the bytes done. With verify the ids must decode to the text.
func encode(t token.Tokenizer, documents corpus.Documents, verify bool, emit func([]int32) error, progress func(done int64)) error {
	var wave []piece
	var waiting, done int64
	flush := func() error {
		encodeAll(t, wave, verify)
		for i := range wave {
			if err := wave[i].emit(t, emit); err != nil {
				return err
			}
		}
		done += waiting
		progress(done)
		wave, waiting = wave[:0], 0
		return nil
	}
	several := false
	for d, err := range documents {
		if err != nil {
			return err
		}
		for text, first := d.Text, several; len(text) > 0; first = false {
			n := token.Cut(text, pieceSize)
			wave = grow(wave)
			p := &wave[len(wave)-1]
			p.document, p.text, p.at, p.first = d, text[:n], len(d.Text)-len(text), first
			text = text[n:]
			if waiting += int64(n); waiting >= waveSize {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		several = true
	}
	return flush()
}

// grow appends a piece, one of an earlier wave where there is one, for its memory.
func grow(wave []piece) []piece {
	if len(wave) < cap(wave) {
		return wave[:len(wave)+1]
	}
	return append(wave, piece{})
}

// encodeAll encodes the pieces on all cores.
func encodeAll(t token.Tokenizer, wave []piece, verify bool) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(wave)) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(wave)); i = next.Add(1) - 1 {
				p := &wave[i]
				p.ids, p.err = t.Encode(p.ids[:0], p.text)
				if verify && p.err == nil {
					p.back, p.lost, p.err = comesBack(t, p.ids, p.text, p.back)
				}
			}
		})
	}
	group.Wait()
}

// emit hands on a piece's ids, or its error.
func (p *piece) emit(t token.Tokenizer, emit func([]int32) error) error {
	if p.err != nil {
		return p.explain(t)
	}
	if separator := t.Separator(); p.first && separator >= 0 {
		if err := emit([]int32{separator}); err != nil {
			return err
		}
	}
	return emit(p.ids)
}

// explain says which document cannot be encoded. The whole of it is encoded once more, because the tokenizer counts the position in its
// message from the start of what it is given.
func (p *piece) explain(t token.Tokenizer) error {
	err := p.err
	if errors.Is(err, errLost) {
		end := min(p.lost+16, len(p.text))
		return fmt.Errorf("%s: %w: at byte %d of the document, %q becomes %q: use another tokenizer, such as kind byte or bpe, or leave data.verify out", p.document.Name, err,
			p.document.Offset+p.at+p.lost, p.text[p.lost:end], p.back[p.lost:min(p.lost+16, len(p.back))])
	}
	if _, whole := t.Encode(nil, p.document.Text); whole != nil {
		err = whole
	}
	if p.document.Offset > 0 {
		return fmt.Errorf("%s, in its part from byte %d on: %w", p.document.Name, p.document.Offset, err)
	}
	return fmt.Errorf("%s: %w", p.document.Name, err)
}

// Text is encoded text in memory.
type Text struct {
	IDs       batch.IDs
	Documents int
	Bytes     int64 // of text; bits per byte follow from it, see [Split.BytesPerToken]
}

// EncodeFiles encodes texts, named by the patterns that data.train takes, with a given tokenizer. invalid is as data.invalid_utf8; stdin is
// what "-" stands for.
func EncodeFiles(t token.Tokenizer, patterns []string, invalid string, stdin io.Reader) (*Text, error) {
	c, err := corpus.Texts(patterns, invalid, stdin)
	if err != nil {
		return nil, err
	}
	text := &Text{}
	documents := func(yield func(corpus.Document, error) bool) {
		for d, err := range c.Documents(corpus.Train) {
			text.Documents++
			text.Bytes += int64(len(d.Text))
			if !yield(d, err) {
				return
			}
		}
	}
	err = encode(t, documents, false, func(ids []int32) error {
		text.IDs = append(text.IDs, ids...)
		return nil
	}, func(int64) {})
	if err != nil {
		return nil, err
	}
	return text, nil
}
