package dataset

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"prenorm/data"
	"prenorm/data/batch"
	"prenorm/data/corpus"
	"prenorm/data/token"
)

// encoder turns documents into ids. One goroutine reads, unpacks and divides the documents, one a core encodes, and the caller's writes, all
// at the same time. The ids and their order do not depend on the number of cores.
type encoder struct {
	tokenizer token.Tokenizer
	emit      func([]int32) error    // gets the ids of all documents, in order, with the tokenizer's separator, if it has one, between documents
	begin     func() error           // told before the ids of a document, its separator included; may be nil
	progress  func(done int64)       // told of bytes done
	verify    bool                   // the ids must decode to the text
	mark      func(p position) error // told now and then, and at a stop, of a place up to which all ids were emitted; may be nil
	stop      func() error           // asked between bundles, and where it says so, what was emitted is marked; not nil
	from      *position              // where an earlier process came to; nil = the start
	want      *corpus.Summary        // what the documents have to be; nil = anything
	changed   func() error           // the error of documents that are not what they have to be; nil where want is
}

// position is a place between two pieces: everything before it.
type position struct {
	Documents int
	Bytes     int64
	Sum       [32]byte // of a [corpus.Hasher]
	Verified  bool     `json:",omitempty"` // the text came back from its ids
}

// bundle is what a core encodes at a time: about pieceSize bytes of text in pieces.
type bundle struct {
	pieces []piece
	joined []bool    // a separator comes before the piece
	size   int64     // bytes of text
	end    *position // behind it, nil for the last
	marks  bool      // all up to its end is to be marked
	ids    []int32
	ends   []int  // of the pieces in ids
	back   []byte // what the ids of a piece decode to, where that is to be proved
	err    error  // of reading, or of encoding the piece behind the last end
	done   chan struct{}
}

// markEvery is how many bytes of text lie between two marks; tests make it smaller.
var markEvery = int64(64 << 20)

// errElsewhere says that the documents are not those that an earlier process came to a position in.
var errElsewhere = errors.New("the text is another one than before")

// never is an encoder's stop where what is read, or what gets the ids, asks.
func never() error { return nil }

// encode is an encoder without marks.
func encode(t token.Tokenizer, documents corpus.Documents, verify bool, emit func([]int32) error, progress func(done int64)) error {
	e := encoder{tokenizer: t, verify: verify, emit: emit, progress: progress, stop: never}
	return e.run(documents)
}

// run encodes the documents. When it returns, nothing of it runs any more.
func (e *encoder) run(documents corpus.Documents) error {
	cores := runtime.GOMAXPROCS(0)
	count := 2*cores + 2 // so that each core has one waiting
	free, work, order := make(chan *bundle, count), make(chan *bundle, count), make(chan *bundle, count)
	for range count {
		free <- &bundle{}
	}
	quit := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		defer close(order)
		defer close(work)
		r := reader{encoder: e, free: free, work: work, order: order, quit: quit, hash: corpus.NewHasher()}
		r.run(documents)
	})
	for range cores {
		group.Go(func() {
			for b := range work {
				b.encode(e.tokenizer, e.verify)
				close(b.done)
			}
		})
	}
	err := e.write(order, free)
	close(quit)
	group.Wait()
	return err
}

// write emits the bundles in order.
func (e *encoder) write(order <-chan *bundle, free chan<- *bundle) error {
	done := int64(0)
	if e.from != nil {
		done = e.from.Bytes
	}
	var last *position // up to which all is emitted, since the last mark
	for b := range order {
		<-b.done
		if err := e.stop(); err != nil {
			return errors.Join(e.suspend(last), err)
		}
		if err := b.emit(e); err != nil {
			return err
		}
		done += b.size
		e.progress(done)
		last = b.end
		if b.marks && e.mark != nil {
			if err := e.mark(*b.end); err != nil {
				return err
			}
			last = nil
		}
		free <- b
	}
	return nil
}

// suspend marks a position, where there is one, before the work is stopped.
func (e *encoder) suspend(at *position) error {
	if at == nil || e.mark == nil {
		return nil
	}
	return e.mark(*at)
}

// encode fills in the ids.
func (b *bundle) encode(t token.Tokenizer, verify bool) {
	b.ids, b.ends = b.ids[:0], b.ends[:0]
	for i := range b.pieces {
		if separator := t.Separator(); b.joined[i] && separator >= 0 {
			b.ids = append(b.ids, separator)
		}
		p, start := &b.pieces[i], len(b.ids)
		ids, err := t.Encode(b.ids, p.text)
		if err != nil {
			b.err = p.explain(t, err)
			return
		}
		if verify {
			lost := 0
			if b.back, lost, err = comesBack(t, ids[start:], p.text, b.back); err != nil {
				b.err = p.explainLost(b.back, lost, err)
				return
			}
		}
		b.ids = ids
		b.ends = append(b.ends, len(ids))
	}
}

// emit hands on the ids of the pieces, then the error, if any.
func (b *bundle) emit(e *encoder) error {
	start := 0
	for i, end := range b.ends {
		if e.begin != nil && b.pieces[i].first {
			if err := e.begin(); err != nil {
				return err
			}
		}
		if err := e.emit(b.ids[start:end]); err != nil {
			return err
		}
		start = end
	}
	return b.err
}

// explain says which document cannot be encoded. Where the whole of it is in memory it is encoded once more, because the tokenizer counts
// the position in its message from the start of what it is given.
func (p *piece) explain(t token.Tokenizer, err error) error {
	from := p.offset
	if d := p.document; !d.Continues && d.Rest == 0 {
		from = d.Offset
		if _, whole := t.Encode(nil, d.Text); whole != nil {
			err = whole
		}
	}
	if from > 0 {
		return fmt.Errorf("%s, in its part from byte %d on: %w", p.document.Name, from, err)
	}
	return fmt.Errorf("%s: %w", p.document.Name, err)
}

// explainLost says where the text does not come back from its ids, which decode to back.
func (p *piece) explainLost(back []byte, lost int, err error) error {
	if !errors.Is(err, errLost) {
		return fmt.Errorf("%s: %w", p.document.Name, err)
	}
	return fmt.Errorf("%s: %w: at byte %d of the document, %q becomes %q: use another tokenizer, such as kind byte or bpe, or leave data.verify out", p.document.Name, err,
		p.offset+int64(lost), p.text[lost:min(lost+16, len(p.text))], back[lost:min(lost+16, len(back))])
}

// Text is encoded text in memory.
type Text struct {
	IDs       batch.IDs
	Starts    batch.Places // where the documents begin
	Documents int
	Bytes     int64  // of text; bits per byte follow from it, see [Split.BytesPerToken]
	Note      string // of [corpus.Corpus.Note], "" for none
}

// EncodeFiles encodes texts, named by the patterns that data.train takes, with a given tokenizer. Of cfg only how files are read is looked
// at; stdin is what "-" stands for.
func EncodeFiles(t token.Tokenizer, patterns []string, cfg data.Config, stdin io.Reader) (text *Text, err error) {
	c, err := OpenTexts(patterns, cfg, stdin)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	text = &Text{}
	documents := func(yield func(corpus.Document, error) bool) {
		for d, err := range c.Documents(corpus.Train) {
			if err == nil && !d.Continues {
				text.Documents++
			}
			text.Bytes += int64(len(d.Text))
			if !yield(d, err) {
				return
			}
		}
	}
	e := encoder{tokenizer: t, progress: func(int64) {}, stop: never}
	e.begin = func() error {
		text.Starts = append(text.Starts, text.IDs.Len())
		return nil
	}
	e.emit = func(ids []int32) error {
		text.IDs = append(text.IDs, ids...)
		return nil
	}
	if err := e.run(documents); err != nil {
		return nil, err
	}
	text.Note = c.Note()
	return text, nil
}
