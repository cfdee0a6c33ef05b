package dataset

import (
	"prenorm/data/corpus"
	"prenorm/data/token"
)

// reader is the goroutine of an encoder that reads: it divides documents into pieces and gathers these in bundles.
type reader struct {
	*encoder
	free        <-chan *bundle
	work, order chan<- *bundle // never full: both have room for every bundle
	quit        <-chan struct{}

	hash   *corpus.Hasher
	bundle *bundle // being filled
	marked int64   // bytes at the last mark
	skips  bool    // the position to go on from is not reached
	last   error
}

// run reads all documents, or until it is told to quit. An error is the last bundle's.
func (r *reader) run(documents corpus.Documents) {
	r.skips = r.from != nil
	for p, err := range pieces(documents, token.PlacesOf(r.tokenizer)) {
		if err != nil {
			r.last = err
			break
		}
		if !r.add(p) {
			break
		}
	}
	sum := r.hash.Summary()
	switch {
	case r.last != nil:
	case r.skips && !r.reached():
		r.last = errElsewhere
	case r.want != nil && sum != *r.want:
		r.last = r.changed()
	}
	if r.last != nil && r.take() {
		r.bundle.err = r.last
	}
	r.hand()
}

// add puts a piece into the bundle. It says whether to go on.
func (r *reader) add(p piece) bool {
	if r.skips && r.reached() {
		r.skips, r.marked = false, r.from.Bytes
	}
	joined := p.first && r.hash.Documents() > 0
	r.hash.AddPart(p.text, p.rest, !p.first)
	if r.skips {
		if r.hash.Bytes() > r.from.Bytes {
			r.last = errElsewhere
		}
		return r.last == nil
	}
	if !r.take() {
		return false
	}
	b := r.bundle
	b.pieces, b.joined = append(b.pieces, p), append(b.joined, joined)
	if b.size += int64(len(p.text)); b.size < pieceSize {
		return true
	}
	bytes := r.hash.Bytes()
	b.end = &position{Documents: r.hash.Documents(), Bytes: bytes, Sum: r.hash.Summary().Fingerprint}
	if bytes-r.marked >= markEvery {
		r.marked, b.marks = bytes, true
	}
	r.hand()
	return true
}

// reached says whether all before the position to go on from was read.
func (r *reader) reached() bool {
	return r.hash.Bytes() == r.from.Bytes && r.hash.Documents() == r.from.Documents && r.hash.Summary().Fingerprint == r.from.Sum
}

// take gets a bundle to fill where there is none. It says whether to go on.
func (r *reader) take() bool {
	if r.bundle != nil {
		return true
	}
	select {
	case <-r.quit:
		return false
	case r.bundle = <-r.free:
	}
	b := r.bundle
	clear(b.pieces) // so that their texts can be freed
	*b = bundle{pieces: b.pieces[:0], joined: b.joined[:0], ids: b.ids, ends: b.ends, back: b.back, done: make(chan struct{})}
	return true
}

// hand gives the bundle away.
func (r *reader) hand() {
	if r.bundle != nil {
		r.order <- r.bundle
		r.work <- r.bundle
		r.bundle = nil
	}
}
