package lab

import (
	"errors"
	"fmt"
	"strings"

	"prenorm/data"
	"prenorm/data/baseline"
	"prenorm/data/batch"
	"prenorm/data/dataset"
)

// Text is what models are trained on and evaluated on.
type Text struct {
	Name       string
	Train, Val batch.Tokens
	Vocab      int
	Print      string  // fingerprint of tokens and tokenizer
	Unigram    float64 // entropy of the training tokens' frequencies, in nats a token: what a model that has learned nothing else reaches
	Bigram     float64 // entropy of a token given the one before it
	close      func() error
}

// Opticks is the text that every Go installation carries, byte by byte: Newton's Opticks.
func Opticks() data.Config {
	c := data.Default()
	c.Train = []string{"$GOROOT/src/testdata/Isaac.Newton-Opticks.txt"}
	c.Tokenizer.Kind = "byte"
	return c
}

// OpenText opens the texts of a configuration; shards are kept in the folder cache. stop is asked again and again, and ends it with the error that it
// returns; it may be nil.
func OpenText(c data.Config, cache string, stop func() error) (*Text, error) {
	if len(c.Sources) > 0 || c.Starts() {
		return nil, fmt.Errorf("the laboratory trains on windows over one text: leave out data.sources, data.packing and data.cross_documents")
	}
	d, err := dataset.Open(c, dataset.Options{Dir: cache, Stop: stop})
	if err != nil {
		return nil, err
	}
	t := &Text{Name: fmt.Sprintf("%s, %s tokens", strings.Join(c.Train, ", "), d.Tokenizer.Kind()), Train: d.Train, Val: d.Val, Vocab: d.Tokenizer.Vocab(),
		Print: d.Stats.Tokenizer[:16] + d.Stats.Train.Source[:16] + d.Stats.Val.Source[:16], close: d.Close}
	if t.Unigram, t.Bigram, err = baseline.InSample(d.Train, t.Vocab, stop); err != nil {
		return nil, errors.Join(fmt.Errorf("entropy of the training text: %w", err), d.Close())
	}
	return t, nil
}

// Close releases the shards.
func (t *Text) Close() error {
	if t.close == nil {
		return nil
	}
	return t.close()
}
