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

// Measure counts the training text and measures the lines on the validation text, which has two tokens at least. Memory is 16 bytes for each
// id of the vocabulary, and what [pairs] holds.
func Measure(train, val Tokens, vocab int) (Lines, error) {
	c, err := count(train, vocab)
	if err != nil {
		return Lines{}, fmt.Errorf("reference lines: the training text: %w", err)
	}
	l := Lines{Uniform: math.Log(float64(vocab)), Pairs: c.total, Full: c.full}
	var unigram, bigram float64
	err = neighbours(val, mostTargets, func(a, b int32) bool {
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

// InSample is the entropy of a text's token frequencies, and that of a token given the one before it, in nats: what the text's own counts
// reach on the text itself, less than they would on another. Pairs are counted up to the limits of [Measure].
func InSample(text Tokens, vocab int) (unigram, bigram float64, err error) {
	c, err := count(text, vocab)
	if err != nil {
		return 0, 0, err
	}
	for _, n := range c.single {
		if n > 0 {
			p := float64(n) / float64(c.tokens)
			unigram -= p * math.Log(p)
		}
	}
	c.pairs.each(func(a int32, n uint32) {
		bigram -= float64(n) / float64(c.total) * math.Log(float64(n)/float64(c.before[a]))
	})
	return unigram, bigram, nil
}

// counts are of a training text.
type counts struct {
	tokens int64
	single []int64  // by id, of all tokens
	before []uint32 // by id: pairs that it is the first of
	kinds  []uint32 // by id: different second ids
	pairs  *pairs
	total  int64 // pairs
	full   bool
}

func count(text Tokens, vocab int) (*counts, error) {
	c := &counts{tokens: text.Len(), single: make([]int64, vocab), before: make([]uint32, vocab), kinds: make([]uint32, vocab), pairs: newPairs(vocab)}
	ids := make([]int32, block)
	for at := int64(0); at < c.tokens; at += int64(len(ids)) {
		ids = ids[:min(block, c.tokens-at)]
		if err := text.Read(ids, at); err != nil {
			return nil, err
		}
		for _, id := range ids {
			if int(id) >= vocab || id < 0 {
				return nil, fmt.Errorf("id %d is outside the vocabulary of %d ids", id, vocab)
			}
			c.single[id]++
		}
	}
	return c, neighbours(text, mostCounted, func(a, b int32) bool {
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
	})
}

func (c *counts) unigram(b int32) float64 {
	return (float64(c.single[b]) + 1) / float64(c.tokens+int64(len(c.single)))
}

// bigram is p(b|a), where p is p(b).
func (c *counts) bigram(a, b int32, p float64) float64 {
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
		end := from + min(n/count, most/count)
		if count == 1 {
			end = n
		}
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
