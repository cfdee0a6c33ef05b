// Package baseline measures what predictors that know very little reach on a text: one that knows nothing, one that knows how often each
// token comes, and one that knows the token before. A model's loss stands somewhere between, or below.
package baseline

import (
	"fmt"
	"math"
)

// Tokens is a stream of ids.
type Tokens interface {
	Len() int64
	// Read fills dst with the ids from number off on, or returns an error if they are not all there.
	Read(dst []int32, off int64) error
}

// Stop is asked before every block of ids that is read; an error that it returns ends the work. It may be nil.
type Stop func() error

// before has every Read of a text ask first.
func (s Stop) before(text Tokens) Tokens {
	if s == nil {
		return text
	}
	return stoppable{text, s}
}

type stoppable struct {
	Tokens
	stop Stop
}

func (s stoppable) Read(dst []int32, off int64) error {
	if err := s.stop(); err != nil {
		return err
	}
	return s.Tokens.Read(dst, off)
}

// Lines are cross-entropies on the validation text, in nats a token: means over all tokens but the first, as an evaluation's loss is one.
// Frequencies are those of the training text, so that nothing was seen before.
type Lines struct {
	// Uniform is ln V: every id is as likely.
	Uniform float64 `json:"uniform"`
	// Unigram has p(b) = (c(b)+1) / (n+V), with the counts c of all n training tokens (Laplace's rule).
	Unigram float64 `json:"unigram"`
	// Bigram has p(b|a) = (c(ab) + t(a) p(b)) / (c(a) + t(a)), t(a) being the number of different tokens that followed a (Witten and Bell 1991).
	Bigram float64 `json:"bigram"`

	Pairs   int64 `json:"pairs"`   // of neighbours in the training text that the bigram's counts are of
	Full    bool  `json:"full"`    // counting ended early, as there was no room for more different pairs
	Targets int64 `json:"targets"` // of the validation text that the means are over
}

// Times is the lines in another unit, of which a nat a token has factor.
func (l Lines) Times(factor float64) Lines {
	l.Uniform, l.Unigram, l.Bigram = factor*l.Uniform, factor*l.Unigram, factor*l.Bigram
	return l
}

// Mean is the mean of the lines of several texts by weights, not all of which are 0. It is zero where those of a text are not known.
func Mean(all []Lines, weights []float64) (mean Lines) {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	for i, l := range all {
		if l == (Lines{}) {
			return l
		}
		w := weights[i] / sum
		mean.Uniform, mean.Unigram, mean.Bigram = mean.Uniform+w*l.Uniform, mean.Unigram+w*l.Unigram, mean.Bigram+w*l.Bigram
		mean.Pairs, mean.Targets, mean.Full = mean.Pairs+l.Pairs, mean.Targets+l.Targets, mean.Full || l.Full
	}
	return mean
}

// Limits of work: pairs are counted in this many training tokens, and lines measured over so many validation tokens, each in stretches that
// are spread evenly over the text where it is longer. Tests make them smaller.
var (
	mostCounted = int64(1 << 24)
	mostTargets = int64(1 << 22)
)

// block is how many ids are read at a time; stretchCount is in how many places a long text is read.
const (
	block        = 1 << 14
	stretchCount = 64
)

// Measure counts the training text and measures the lines on the validation text: see [Count] and [Counts.Lines].
func Measure(train, val Tokens, vocab int, stop Stop) (Lines, error) {
	c, err := Count(train, vocab, stop)
	if err != nil {
		return Lines{}, err
	}
	return c.Lines(val, stop)
}

// Lines measures the lines on the validation text, which has two tokens at least.
func (c *Counts) Lines(val Tokens, stop Stop) (Lines, error) {
	l := Lines{Uniform: math.Log(float64(len(c.single))), Pairs: c.total, Full: c.full}
	var unigram, bigram float64
	err := neighbours(stop.before(val), mostTargets, func(a, b int32) bool {
		p := c.unigram(b)
		unigram -= math.Log(p)
		bigram -= math.Log(c.bigram(a, b, p))
		l.Targets++
		return true
	})
	if err == nil && l.Targets == 0 {
		err = fmt.Errorf("it has no token to predict")
	}
	if err != nil {
		return Lines{}, fmt.Errorf("reference lines: the validation text: %w", err)
	}
	l.Unigram, l.Bigram = unigram/float64(l.Targets), bigram/float64(l.Targets)
	return l, nil
}

// InSample counts a text and returns its entropies: see [Counts.InSample].
func InSample(text Tokens, vocab int, stop Stop) (unigram, bigram float64, err error) {
	c, err := Count(text, vocab, stop)
	if err != nil {
		return 0, 0, err
	}
	unigram, bigram = c.InSample()
	return unigram, bigram, nil
}

// InSample is the entropy of the text's token frequencies, and that of a token given the one before it, in nats: what the text's own counts
// reach on the text itself, less than they would on another. Pairs are those that were counted.
func (c *Counts) InSample() (unigram, bigram float64) {
	for _, n := range c.single {
		if n > 0 {
			p := float64(n) / float64(c.tokens)
			unigram -= p * math.Log(p)
		}
	}
	c.pairs.each(func(a int32, n uint32) {
		bigram -= float64(n) / float64(c.total) * math.Log(float64(n)/float64(c.before[a]))
	})
	return unigram, bigram
}

// Counts are of a training text.
type Counts struct {
	tokens int64
	single []int64  // by id, of all tokens
	before []uint32 // by id: pairs that it is the first of
	kinds  []uint32 // by id: different second ids
	pairs  *pairs
	total  int64 // pairs
	full   bool
}

// Count counts the tokens of a text, and pairs up to the limits of work. Memory is 16 bytes for each id of the vocabulary, and what [pairs] holds.
func Count(text Tokens, vocab int, stop Stop) (*Counts, error) {
	c := &Counts{tokens: text.Len(), single: make([]int64, vocab), before: make([]uint32, vocab), kinds: make([]uint32, vocab), pairs: newPairs(vocab)}
	text = stop.before(text)
	err := c.countSingle(text)
	if err == nil {
		err = neighbours(text, mostCounted, c.addPair)
	}
	if err != nil {
		return nil, fmt.Errorf("counting the training text's tokens: %w", err)
	}
	return c, nil
}

func (c *Counts) countSingle(text Tokens) error {
	ids := make([]int32, block)
	for at := int64(0); at < c.tokens; at += int64(len(ids)) {
		ids = ids[:min(block, c.tokens-at)]
		if err := text.Read(ids, at); err != nil {
			return err
		}
		for _, id := range ids {
			if int(id) >= len(c.single) || id < 0 {
				return fmt.Errorf("id %d is outside the vocabulary of %d ids", id, len(c.single))
			}
			c.single[id]++
		}
	}
	return nil
}

// addPair counts a pair, or says that there is no room for more.
func (c *Counts) addPair(a, b int32) bool {
	first, ok := c.pairs.add(a, b)
	if !ok {
		c.full = true
		return false
	}
	c.before[a]++
	c.total++
	if first {
		c.kinds[a]++
	}
	return true
}

func (c *Counts) unigram(b int32) float64 {
	return (float64(c.single[b]) + 1) / float64(c.tokens+int64(len(c.single)))
}

// bigram is p(b|a), where p is p(b).
func (c *Counts) bigram(a, b int32, p float64) float64 {
	kinds := float64(c.kinds[a])
	if kinds == 0 {
		return p
	}
	return (float64(c.pairs.of(a, b)) + kinds*p) / (float64(c.before[a]) + kinds)
}

// neighbours hands on pairs of neighbours in most tokens, as long as use wants more.
func neighbours(text Tokens, most int64, use func(a, b int32) bool) error {
	n, count := text.Len(), int64(1)
	if n > most {
		count = stretchCount
	}
	ids := make([]int32, block)
	for i := range count {
		from := i * (n / count)
		end := from + min(n, most)/count
		for at := from; at < end-1; at += int64(len(ids)) - 1 { // the last id of a block starts the next
			ids = ids[:min(block, end-at)]
			if err := text.Read(ids, at); err != nil {
				return err
			}
			for k := range len(ids) - 1 {
				if !use(ids[k], ids[k+1]) {
					return nil
				}
			}
		}
	}
	return nil
}
