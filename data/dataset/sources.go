package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"prenorm/data"
	"prenorm/data/batch"
	"prenorm/data/corpus"
	"prenorm/data/shard"
	"prenorm/data/token"
)

// Source is the tokens of one text, or of one of several.
type Source struct {
	Name       string // "" for the only one
	Train, Val *shard.Reader
	Stats      Stats

	Foreign bool // the ids are another program's, without a text

	starts    [2]*shard.Starts // by side; nil where nothing asks
	separated bool
	stop      func() error
}

// Text is one side's tokens, and where its documents begin where the configuration asks for that.
func (s *Source) Text(side corpus.Side) batch.Text {
	text := batch.Text{Tokens: [...]*shard.Reader{corpus.Train: s.Train, corpus.Val: s.Val}[side], Separated: s.separated, Stop: s.stop}
	if starts := s.starts[side]; starts != nil {
		text.Starts = starts
	}
	return text
}

func (s *Source) close() error {
	var errs []error
	for _, r := range []*shard.Reader{s.Train, s.Val} {
		if r != nil {
			errs = append(errs, r.Close())
		}
	}
	for _, r := range s.starts {
		if r != nil {
			errs = append(errs, r.Close())
		}
	}
	return errors.Join(errs...)
}

// RuleOf is how a configuration makes rows of tokens.
func RuleOf(cfg data.Config) batch.Rule {
	return batch.Rule{Whole: cfg.Packing == "documents", Closed: !cfg.Cross}
}

// builders are a builder a source, at least one.
type builders []*builder

// newBuilders finds the texts of all sources.
func newBuilders(cfg data.Config, opt Options) (builders, error) {
	opt.Stop = lasting(opt.Stop)
	if len(cfg.Sources) == 0 {
		b, err := newBuilder("", cfg, opt)
		if err != nil {
			return nil, err
		}
		return builders{b}, nil
	}
	var all builders
	for i, own := range cfg.Each() {
		b, err := newBuilder(cfg.Sources[i].Name, own, opt)
		if err != nil {
			all.close()
			return nil, ofSource(cfg.Sources[i].Name, err)
		}
		all = append(all, b)
	}
	return all, nil
}

// of says which source an error is of, where there are several.
func (b *builder) of(err error) error { return ofSource(b.name, err) }

func ofSource(name string, err error) error {
	if name == "" {
		return err
	}
	return fmt.Errorf("data.sources, %s: %w", name, err)
}

func (all builders) close() {
	for _, b := range all {
		b.text.Close()
	}
}

func (all builders) stop() error { return all[0].opt.Stop() }

// rescan reads the texts whose summaries are of an earlier run, and says whether one has changed.
func (all builders) rescan() (changed bool, err error) {
	for _, b := range all {
		if !b.recalled {
			continue
		}
		sums, few := b.sums, b.text.Few()
		if err := b.scan(); err != nil {
			return false, b.of(err)
		}
		changed = changed || b.sums != sums || b.text.Few() != few
	}
	return changed, nil
}

// build makes the dataset from known summaries.
func (all builders) build() (*Dataset, error) {
	d := &Dataset{}
	var err error
	if d.Tokenizer, err = all.tokenizer(); err != nil {
		return nil, err
	}
	print, err := fingerprint(d.Tokenizer)
	if err != nil {
		return nil, err
	}
	for _, b := range all {
		s, err := b.build(d.Tokenizer, print)
		d.Sources = append(d.Sources, s)
		if err != nil {
			return nil, errors.Join(b.of(all.measureFull(err, b, d.Tokenizer, print)), d.Close())
		}
	}
	d.Train, d.Val = d.Sources[0].Train, d.Sources[0].Val
	d.Stats = d.Sources[0].Stats
	if len(d.Sources) > 1 {
		d.Stats.Train, d.Stats.Val = d.sum(func(s Stats) Split { return s.Train }), d.sum(func(s Stats) Split { return s.Val })
	}
	return d, nil
}

// sum describes one side of all sources.
func (d *Dataset) sum(side func(Stats) Split) Split {
	var sum Split
	all := sha256.New()
	for _, s := range d.Sources {
		x := side(s.Stats)
		sum.Documents, sum.Bytes, sum.Tokens = sum.Documents+x.Documents, sum.Bytes+x.Bytes, sum.Tokens+x.Tokens
		fmt.Fprintln(all, x.Source)
	}
	sum.Source = hex.EncodeToString(all.Sum(nil))
	return sum
}

// build makes one source. What there is of it is returned with an error too.
func (b *builder) build(t token.Tokenizer, print [32]byte) (Source, error) {
	s := Source{Name: b.name, Foreign: b.imported != nil, separated: t.Separator() >= 0, stop: b.opt.Stop, Stats: Stats{Tokenizer: hex.EncodeToString(print[:])}}
	if b.imported != nil {
		if err := b.measure(t, print); err != nil {
			return s, err
		}
	}
	for _, side := range sides {
		r, err := b.shard(side, t, print)
		if err != nil {
			return s, err
		}
		sum := b.sums[side]
		split := Split{Documents: sum.Documents, Bytes: sum.Bytes, Tokens: r.Len(), Source: hex.EncodeToString(sum.Fingerprint[:])}
		if side == corpus.Train {
			s.Train, s.Stats.Train = r, split
		} else {
			s.Val, s.Stats.Val = r, split
		}
		if b.cfg.Starts() {
			if s.starts[side], err = b.starts(r, side, t); err != nil {
				return s, err
			}
		}
	}
	if n := s.Val.Len(); n < minVal {
		return s, fmt.Errorf("the validation text is too short (tokens: %d, bytes: %d), at least %d tokens are needed to predict one from another: use a longer text, a larger data.val.fraction, or validation files (%s)",
			n, s.Stats.Val.Bytes, minVal, corpus.ValFiles(b.name))
	}
	return s, nil
}
