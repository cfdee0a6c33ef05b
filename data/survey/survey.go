// Package survey looks at a run's text: how much there is and of what scripts, what of it is there twice, what of the validation text occurs in the
// training text, and how far predictors and packers that know little come with it.
//
// Memory does not grow with the bytes of text. Copies take what a [prenorm/data/dedup.Finder] takes a document, and its name; overlap takes at
// most [mostGrams] n-grams a document at hand; reference lines are bounded by package baseline; packing looks at [mostPacked] bytes.
package survey

import (
	"errors"
	"fmt"
	"io"
	"math"

	"prenorm/data"
	"prenorm/data/baseline"
	"prenorm/data/corpus"
	"prenorm/data/dataset"
	"prenorm/data/dedup"
	"prenorm/data/inorder"
)

// Options are what a survey leaves to the program.
type Options struct {
	Stdin    io.Reader                             // what "-" stands for; nil where there is no standard input
	Dir      string                                // where what has to be on disk is kept meanwhile, as of [corpus.Open]
	Progress func(stage string, done, total int64) // told of bytes of text; may be nil
	Stop     func() error                          // asked again and again; an error that it returns ends the survey; may be nil
}

// Survey is what was found.
type Survey struct {
	Tokenizer string     `json:"tokenizer"` // kind
	Vocab     int        `json:"vocab"`
	Train     Side       `json:"train"`
	Val       Side       `json:"val"`
	Copies    Copies     `json:"duplicates"`
	Overlap   Overlap    `json:"overlap"`
	Lines     References `json:"lines"`
	Notes     []string   `json:"notes,omitempty"` // on how the text was divided
}

// Side describes one of the two texts. Where data.duplicates drops documents, they are not in it.
type Side struct {
	Documents  int      `json:"documents"`
	Bytes      int64    `json:"bytes"`
	Tokens     int64    `json:"tokens"` // separators between documents included
	Characters int64    `json:"characters"`
	Words      int64    `json:"words"`   // as package dedup divides text
	Lengths    []Bin    `json:"lengths"` // of documents, in bytes
	Scripts    []Script `json:"scripts"` // by the number of letters, most first
	Packed     Packed   `json:"packed"`
}

// Bin is documents of so many bytes: Below/2 to Below-1.
type Bin struct {
	Below     int64 `json:"below"`
	Documents int   `json:"documents"`
	Bytes     int64 `json:"bytes"`
}

// Copies are documents that are copies of an earlier one, in the whole text before it is divided.
type Copies struct {
	Compared int           `json:"compared"`   // documents
	Exact    int           `json:"exact"`      // copies with the same bytes
	Near     int           `json:"near"`       // similar ones besides
	Bytes    int64         `json:"bytes"`      // of both
	Full     bool          `json:"full"`       // there were too many documents to compare all
	Hist     [10]int       `json:"similarity"` // near copies by tenths of what is between the least similarity and 1
	List     []CopyListing `json:"list"`
}

// CopyListing is a document and that of which it is a copy.
type CopyListing struct {
	Document   string  `json:"document"`
	Of         string  `json:"of"`
	Similarity float64 `json:"similarity"`
	Exact      bool    `json:"exact"`
	Bytes      int64   `json:"bytes"`
}

// References are the lines that losses are told by, and how they were estimated.
type References struct {
	baseline.Lines
	BitsPerByte struct {
		Uniform float64 `json:"uniform"`
		Unigram float64 `json:"unigram"`
		Bigram  float64 `json:"bigram"`
	} `json:"bits_per_byte"` // of the validation text
	TrainUnigram float64 `json:"train_unigram"` // entropy of the training text's own counts, in nats a token
	TrainBigram  float64 `json:"train_bigram"`
}

// mostListed is how many copies and how many overlapping documents are listed.
const mostListed = 1000

// surveyor is a survey at work.
type surveyor struct {
	Options
	text *corpus.Corpus
	out  *Survey
}

// Run surveys the text of cfg, which d was made from, with its own passes over the text: one to divide it, one for copies, one over the training
// text and two over the validation text.
func Run(cfg data.Config, d *dataset.Dataset, o Options) (out *Survey, err error) {
	if d.Sources[0].Foreign {
		return nil, fmt.Errorf("the text is token ids of another program (.bin), and a survey is of text: name the text that they were made from")
	}
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	text, err := corpus.Open(cfg, o.Stdin, o.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, text.Close()) }()
	text.Stop = o.Stop
	train, val, err := text.Scan(func(done, total int64) { o.Progress("reading text", done, total) })
	if err != nil {
		return nil, err
	}
	if fmt.Sprintf("%x %x", train.Fingerprint, val.Fingerprint) != d.Stats.Train.Source+" "+d.Stats.Val.Source {
		return nil, corpus.ErrChanged
	}
	s := &surveyor{Options: o, text: text, out: &Survey{Tokenizer: d.Tokenizer.Kind(), Vocab: d.Tokenizer.Vocab()}}
	if note := text.Note(); note != "" {
		s.out.Notes = append(s.out.Notes, note)
	}
	s.out.Train = Side{Documents: train.Documents, Bytes: train.Bytes, Tokens: d.Stats.Train.Tokens}
	s.out.Val = Side{Documents: val.Documents, Bytes: val.Bytes, Tokens: d.Stats.Val.Tokens}
	for _, part := range []func() error{func() error { return s.references(d) }, s.copies, s.sides} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	return s.out, nil
}

// references measures the lines.
func (s *surveyor) references(d *dataset.Dataset) error {
	s.Progress("measuring reference lines", 0, 0)
	counts, err := baseline.Count(d.Train, s.out.Vocab, s.Stop)
	if err != nil {
		return err
	}
	r := &s.out.Lines
	if r.Lines, err = counts.Lines(d.Val, s.Stop); err != nil {
		return err
	}
	r.TrainUnigram, r.TrainBigram = counts.InSample()
	perByte := func(nats float64) float64 { return nats / math.Ln2 / d.Stats.Val.BytesPerToken() }
	r.BitsPerByte.Uniform, r.BitsPerByte.Unigram, r.BitsPerByte.Bigram = perByte(r.Uniform), perByte(r.Unigram), perByte(r.Bigram)
	return nil
}

// copies finds the copies.
func (s *surveyor) copies() error {
	c := &s.out.Copies
	s.Progress("comparing documents", 0, 0)
	compared, err := s.text.Copies(true, func(found corpus.Copied) {
		c.Bytes += found.Bytes
		if found.Exact {
			c.Exact++
		} else {
			c.Near++
			c.Hist[min(9, int((found.Similarity-dedup.Similar)/(1-dedup.Similar)*10))]++
		}
		if len(c.List) < mostListed {
			c.List = append(c.List, CopyListing{found.Name, found.Of, found.Similarity, found.Exact, found.Bytes})
		}
	})
	c.Compared, c.Full = compared.Documents, compared.Full
	return err
}

// documents gives the documents of a side to workers, and what they make to use, with the document's name and bytes. text, which may be nil, gets
// all stretches in order.
func documents[R any](s *surveyor, side corpus.Side, stage string, worker func() inorder.Worker[R], text func([]byte) error, use func(name string, size int64, r R)) (err error) {
	type waiting struct {
		name string
		size int64
	}
	var queue []waiting
	pool := inorder.New(worker, func(r R) {
		use(queue[0].name, queue[0].size, r)
		queue = queue[1:]
	})
	defer pool.Close()
	total := s.out.Train.Bytes
	if side == corpus.Val {
		total = s.out.Val.Bytes
	}
	done := int64(0)
	for d, err := range s.text.Documents(side) {
		if err != nil {
			return err
		}
		if text != nil {
			if err := text(d.Text); err != nil {
				return err
			}
		}
		if !d.Continues {
			queue = append(queue, waiting{d.Name, int64(len(d.Text)) + d.Rest})
		}
		pool.Add(d.Text, d.Rest == 0)
		done += int64(len(d.Text))
		s.Progress(stage, done, total)
	}
	return nil
}
