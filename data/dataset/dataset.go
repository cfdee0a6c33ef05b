// Package dataset assembles a run's data: it makes or finds the tokenizer, encodes the texts into shards, and keeps both for the next run.
package dataset

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"prenorm/data"
	"prenorm/data/corpus"
	"prenorm/data/shard"
	"prenorm/data/token"
)

// Options are what a data configuration leaves to the program.
type Options struct {
	Dir       string                                // where shards and tokenizers are kept when data.cache is ""; made if it is missing
	Stdin     io.Reader                             // what "-" stands for; nil where there is no standard input
	Progress  func(stage string, done, total int64) // told of slow work in bytes or merges, total 0 where it is unknown; may be nil
	Tokenizer token.Tokenizer                       // a fixed one, such as a checkpoint's; nil: the configuration says
	Log       func(note string)                     // told what is unexpected but no error; may be nil
	Text      func(note string)                     // told what a person is to know of texts that are no token files; nil: Log is
	Temporary bool                                  // Dir is removed after an error, so that no run goes on with what is there
	Stop      func() error                          // asked again and again during slow work, which ends with the error that it returns; may be nil
}

// tokenizerStage is the stage of Options.Progress in which merges are counted, once all bytes are.
const tokenizerStage = "training tokenizer"

// WithUnit makes an Options.Progress of a function that is to be told as well whether done and total are bytes, not merges.
func WithUnit(show func(stage string, done, total int64, bytes bool)) func(stage string, done, total int64) {
	return func(stage string, done, total int64) { show(stage, done, total, stage != tokenizerStage || total == 0) }
}

// Dataset is tokens ready to train on.
type Dataset struct {
	Tokenizer  token.Tokenizer
	Train, Val *shard.Reader // of the first source, which is the only one unless the configuration has several
	Sources    []Source      // at least one
	Stats      Stats         // of all sources
}

// Stats describes a dataset. Equal fingerprints mean equal tokens.
type Stats struct {
	Tokenizer string `json:"tokenizer"` // fingerprint, hexadecimal
	Train     Split  `json:"train"`
	Val       Split  `json:"val"`
}

// Split describes the texts of one side.
type Split struct {
	Documents int    `json:"documents"`
	Bytes     int64  `json:"bytes"`  // of text
	Tokens    int64  `json:"tokens"` // separators between documents included
	Source    string `json:"source"` // fingerprint of the documents, hexadecimal
}

// BytesPerToken converts a loss per token to one per byte: bits per byte = loss in nats / ln 2 / BytesPerToken.
func (s Split) BytesPerToken() float64 { return float64(s.Bytes) / float64(max(s.Tokens, 1)) }

// minVal is the least number of validation tokens: one to read and one to predict.
const minVal = 2

// Open reads the texts that cfg names, trains the tokenizer on the training text alone unless there is one, and encodes both texts. What
// an earlier run left in the folder is used again where texts and settings are the same. Of several sources each has shards of its own; the
// tokenizer is trained on the training texts of all. The caller closes the dataset.
func Open(cfg data.Config, opt Options) (*Dataset, error) {
	d, err := open(cfg, opt)
	return d, full(err, cfg, opt)
}

func open(cfg data.Config, opt Options) (*Dataset, error) {
	all, err := newBuilders(cfg, opt)
	if err != nil {
		return nil, err
	}
	defer all.close()
	d, err := all.build()
	if err != nil && all.stop() == nil && !shard.Full(err) {
		// Perhaps a file has changed although its size and time have not: read all and try again if so.
		changed, failed := all.rescan()
		if failed != nil {
			return nil, failed
		}
		if changed {
			return all.build()
		}
	}
	return d, err
}

// lasting is a question whether to stop that is not asked again once the answer was yes. Any goroutine may ask.
func lasting(stop func() error) func() error {
	var mutex sync.Mutex
	var said error
	return func() error {
		mutex.Lock()
		defer mutex.Unlock()
		if said == nil && stop != nil {
			said = stop()
		}
		return said
	}
}

// sides are both sides, in the order in which they are prepared.
var sides = [...]corpus.Side{corpus.Train, corpus.Val}

// builder holds what Open knows on its way.
type builder struct {
	cfg      data.Config // of one source
	name     string      // of the source, "" for the only one
	opt      Options
	dir      string
	text     *corpus.Corpus
	imported *imported         // nil where text is read
	sums     [2]corpus.Summary // by side
	recalled bool              // sums are of an earlier run, no text was read yet
}

// openBuilder finds the texts of a source, "" for the only one.
func openBuilder(name string, cfg data.Config, opt Options) (*builder, error) {
	b := &builder{name: name, cfg: cfg, opt: opt, dir: cfg.Cache}
	if b.dir == "" {
		b.dir = opt.Dir
	}
	if opt.Progress == nil {
		b.opt.Progress = func(string, int64, int64) {}
	}
	if opt.Log == nil {
		b.opt.Log = func(string) {}
	}
	if b.opt.Text == nil || slices.ContainsFunc(cfg.Train, shard.IsForeign) {
		b.opt.Text = b.opt.Log
	}
	var err error
	if b.text, err = corpus.OpenSource(name, cfg, opt.Stdin, b.dir); err != nil {
		return nil, err
	}
	b.text.Stop = b.opt.Stop
	if b.imported, err = b.tokenFiles(); err != nil {
		return nil, errors.Join(err, b.text.Close())
	}
	return b, nil
}

// newBuilder is openBuilder with the summaries of the texts.
func newBuilder(name string, cfg data.Config, opt Options) (*builder, error) {
	b, err := openBuilder(name, cfg, opt)
	if err != nil {
		return nil, err
	}
	err = b.makeFolder()
	if err == nil && b.imported == nil {
		err = b.summarise()
	}
	if err != nil {
		return nil, errors.Join(err, b.text.Close())
	}
	if note := b.text.Note(); note != "" {
		b.tell(b.opt.Text, note)
	}
	return b, nil
}

// makeFolder makes the folder of shards.
func (b *builder) makeFolder() error {
	if err := os.MkdirAll(b.dir, 0o777); err != nil {
		return fmt.Errorf("the folder of token shards cannot be made: %w: choose another place for it, with --out or data.cache", err)
	}
	shard.Sweep(b.dir)
	return nil
}

// summarise finds the summaries of the texts.
func (b *builder) summarise() error {
	if b.recall() {
		return nil
	}
	return b.scan()
}

// log tells a note on the work with the source.
func (b *builder) log(note string) { b.tell(b.opt.Log, note) }

// tell tells a note with the name of the source.
func (b *builder) tell(log func(string), note string) {
	if b.name != "" {
		note = "source " + b.name + ": " + strings.ReplaceAll(note, "\n", "\nsource "+b.name+": ")
	}
	log(note)
}

// Close releases the shards.
func (d *Dataset) Close() error {
	var errs []error
	for i := range d.Sources {
		errs = append(errs, d.Sources[i].close())
	}
	return errors.Join(errs...)
}

// documents yields one side again, and [corpus.ErrChanged] at its end if it is not what its summary says.
func (b *builder) documents(side corpus.Side) corpus.Documents {
	return func(yield func(corpus.Document, error) bool) {
		h := corpus.NewHasher()
		for d, err := range b.text.Documents(side) {
			if err != nil {
				yield(d, err)
				return
			}
			h.AddPart(d.Text, d.Rest, d.Continues)
			if !yield(d, nil) {
				return
			}
		}
		if h.Summary() != b.sums[side] {
			yield(corpus.Document{}, b.text.Changed(side))
		}
	}
}
