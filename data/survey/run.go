package survey

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"prenorm/data"
	"prenorm/data/baseline"
	"prenorm/data/corpus"
	"prenorm/data/dataset"
	"prenorm/data/dedup"
	"prenorm/data/inorder"
)

// surveyor is a survey at work.
type surveyor struct {
	Options
	out     *Survey
	sources []*source // at least one
	across  *across   // nil where there is one
	tails   *tails
}

// source is one of the texts.
type source struct {
	*Part
	number int
	name   string // "" for the only one
	data   *dataset.Source
	text   text      // nil where ids of an unknown tokenizer are all that there is
	found  []int64   // as [Source.FoundIn]
	copies []Between // as [Source.CopiesOf]
}

// Run surveys the text of cfg, which d was made from, with its own passes over it: one to divide it, one for copies, one over the training text and
// two over the validation text.
func Run(cfg data.Config, d *dataset.Dataset, o Options) (out *Survey, err error) {
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	if o.Stop == nil {
		o.Stop = func() error { return nil }
	}
	s := &surveyor{Options: o, out: &Survey{Tokenizer: d.Tokenizer.Kind(), Vocab: d.Tokenizer.Vocab()}}
	defer func() { err = errors.Join(err, s.close()) }()
	if s.tails, err = newTails(o.Dir); err != nil {
		return nil, err
	}
	s.begin(cfg, d)
	for i, own := range cfg.Each() {
		if err := s.open(own, d, s.sources[i]); err != nil {
			return nil, s.sources[i].of(err)
		}
	}
	for _, part := range []func(*source) error{func(x *source) error { return s.references(d.Tokenizer.Vocab(), x) }, s.copies} {
		if err := s.each(part); err != nil {
			return nil, err
		}
	}
	if err := s.looks(); err != nil {
		return nil, err
	}
	s.whole()
	return s.out, nil
}

// begin makes room for what is found of each source.
func (s *surveyor) begin(cfg data.Config, d *dataset.Dataset) {
	if len(d.Sources) == 1 && d.Sources[0].Name == "" {
		s.sources = []*source{{Part: &s.out.Part, data: &d.Sources[0], found: make([]int64, 1)}}
		return
	}
	s.out.Sources, s.out.Across = make([]Source, len(d.Sources)), &Across{}
	s.across = newAcross(s.out.Across)
	stages := [][]float64{cfg.Weights()}
	s.out.Stages = []int{1}
	for _, stage := range cfg.Stages {
		stages, s.out.Stages = append(stages, stage.Weights), append(s.out.Stages, stage.From)
	}
	for i := range d.Sources {
		x := &s.out.Sources[i]
		x.Name, x.FoundIn, x.CopiesOf = d.Sources[i].Name, make([]int64, len(d.Sources)), make([]Between, len(d.Sources))
		for _, weights := range stages {
			x.Weights = append(x.Weights, share(weights[i], weights))
		}
		s.sources = append(s.sources, &source{Part: &x.Part, number: i, name: x.Name, data: &d.Sources[i], found: x.FoundIn, copies: x.CopiesOf})
	}
}

// share is that of one of some numbers in their sum.
func share(of float64, all []float64) float64 {
	sum := 0.0
	for _, v := range all {
		sum += v
	}
	if sum == 0 {
		return 0
	}
	return of / sum
}

// of says which source an error is of.
func (x *source) of(err error) error {
	if err == nil || x.name == "" {
		return err
	}
	return fmt.Errorf("data.sources, %s: %w", x.name, err)
}

// each has a part of the survey done for every source, up to the first error.
func (s *surveyor) each(do func(*source) error) error {
	for _, x := range s.sources {
		if err := do(x); err != nil {
			return x.of(err)
		}
	}
	return nil
}

// note keeps what a person is to be told of a source.
func (s *surveyor) note(x *source, words string) {
	if words == "" {
		return
	}
	for _, line := range strings.Split(words, "\n") {
		if x.name != "" {
			line = x.name + ": " + line
		}
		s.out.Notes = append(s.out.Notes, line)
	}
}

// progress tells how far a stage has come with a source.
func (s *surveyor) progress(x *source, stage string) func(done, total int64) {
	if x.name != "" {
		stage += " of " + x.name
	}
	return func(done, total int64) { s.Progress(stage, done, total) }
}

// open opens a source's text and takes what is known of it already.
func (s *surveyor) open(cfg data.Config, d *dataset.Dataset, x *source) error {
	stats := x.data.Stats
	x.Train = Side{Documents: stats.Train.Documents, Bytes: stats.Train.Bytes, Tokens: stats.Train.Tokens}
	x.Val = Side{Documents: stats.Val.Documents, Bytes: stats.Val.Bytes, Tokens: stats.Val.Tokens}
	if x.TokenFiles = x.data.Foreign; x.TokenFiles {
		x.Train.Documents, x.Val.Documents = 0, 0
		return s.openIDs(d.Tokenizer, x)
	}
	text, err := corpus.OpenSource(x.name, cfg, s.Stdin, s.Dir)
	if err != nil {
		return err
	}
	x.text, x.Text = text, true
	text.Stop = s.Stop
	train, val, err := text.Scan(s.progress(x, "reading text"))
	if err != nil {
		return err
	}
	switch {
	case fmt.Sprintf("%x", train.Fingerprint) != stats.Train.Source:
		return text.Changed(corpus.Train)
	case fmt.Sprintf("%x", val.Fingerprint) != stats.Val.Source:
		return text.Changed(corpus.Val)
	}
	x.Odd = oddOf(text.Found().Odd, cfg)
	s.note(x, text.Note())
	return nil
}

// close ends all that was opened.
func (s *surveyor) close() error {
	errs := []error{s.tails.close()}
	for _, x := range s.sources {
		if x.text != nil {
			errs = append(errs, x.text.Close())
		}
	}
	return errors.Join(errs...)
}

// references measures the lines of a source by counts of its own.
func (s *surveyor) references(vocab int, x *source) error {
	s.progress(x, "measuring reference lines")(0, 0)
	counts, err := baseline.Count(x.data.Train, vocab, s.Stop)
	if err != nil {
		return err
	}
	r := &x.Lines
	if r.Lines, err = counts.Lines(x.data.Val, s.Stop); err != nil {
		return err
	}
	r.TrainUnigram, r.TrainBigram = counts.InSample()
	if x.Text && x.Val.Bytes > 0 {
		perByte := func(nats float64) float64 { return nats / math.Ln2 / x.data.Stats.Val.BytesPerToken() }
		r.BitsPerByte.Uniform, r.BitsPerByte.Unigram, r.BitsPerByte.Bigram = perByte(r.Uniform), perByte(r.Unigram), perByte(r.Bigram)
	}
	return nil
}

// copies finds the copies in a source.
func (s *surveyor) copies(x *source) error {
	if !x.Text {
		return nil
	}
	c := &x.Copies
	s.progress(x, "comparing documents")(0, 0)
	compared, err := x.text.Copies(true, func(found corpus.Copied) {
		c.Bytes += found.Bytes
		if found.Exact {
			c.Exact++
		} else {
			c.Near++
			c.Hist[min(9, int((found.Similarity-dedup.Similar)/(1-dedup.Similar)*10))]++
		}
		if all := &s.out.Copies; len(all.List) < mostListed {
			all.List = append(all.List, CopyListing{found.Name, found.Of, found.Similarity, found.Exact, found.Bytes})
		}
	}, s.across.of(x))
	c.Compared, c.Full = compared.Documents, compared.Full
	return err
}

// documents gives the documents of a side to workers, and what they make to use, with the document's name and bytes. more, which may be nil, gets
// all stretches in order.
func documents[R any](s *surveyor, x *source, side corpus.Side, stage string, worker func() inorder.Worker[R], more func([]byte) error, use func(name string, size int64, r R)) error {
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
	total := x.Train.Bytes
	if side == corpus.Val {
		total = x.Val.Bytes
	}
	tell := s.progress(x, stage)
	done := int64(0)
	for d, err := range x.text.Documents(side) {
		if err != nil {
			return err
		}
		if more != nil {
			if err := more(d.Text); err != nil {
				return err
			}
		}
		if !d.Continues {
			queue = append(queue, waiting{name: d.Name})
		}
		queue[len(queue)-1].size += int64(len(d.Text))
		pool.Add(d.Text, d.Rest == 0)
		done += int64(len(d.Text))
		tell(done, total)
	}
	return nil
}
