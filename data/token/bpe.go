package token

import (
	"errors"
	"fmt"

	"prenorm/configs/problem"
)

const (
	kindBPE      = "bpe"
	minFrequency = 2 // how often a pair must occur in the corpus to be merged
)

func init() {
	Register(kindBPE, Maker{
		New:        trainBPE,
		Trained:    true,
		Unmarshal:  unmarshalBPE,
		Check:      func(cfg Config, l *problem.List) { l.Whole("vocab", cfg.Vocab, minBPE, maxVocab) },
		KnownVocab: func(cfg Config) int { return cfg.Vocab },
	})
}

// minBPE is the smallest trained vocabulary: every byte, one merge and the separator.
const minBPE = 258

// bpeTokenizer is a byte-level BPE vocabulary trained on the run's own text: ids 0 to 255 are the bytes, then come the merges in the
// order they were learned (see [trainMerges]), and the last id is the separator <|endoftext|>.
//
// A corpus that has too few repeated pairs for the vocabulary asked for gives a smaller one: Vocab tells the true size.
type bpeTokenizer struct {
	*bytePairs
	learned []pair
}

type bpeFile struct {
	header
	Merges [][]int32 `json:"merges"` // [left id, right id] of id 256, 257, ...
}

func trainBPE(cfg Config, texts Texts, progress Progress) (Tokenizer, error) {
	return Training{Vocab: cfg.Vocab, Pattern: patterns[0].name, Bytes: BytesByValue}.run(texts, progress)
}

func newBPE(merges []pair) (Tokenizer, error) {
	b, err := newBytePairs(kindBPE, naturalBytes(), merges)
	if err != nil {
		return nil, err
	}
	return &bpeTokenizer{b, merges}, nil
}

func unmarshalBPE(file []byte) (Tokenizer, error) {
	var f bpeFile
	if err := decodeStrict(file, &f); err != nil {
		return nil, err
	}
	if f.Merges == nil {
		return nil, errors.New("merges is null, must be a list")
	}
	merges := make([]pair, len(f.Merges))
	for i, m := range f.Merges {
		if len(m) != 2 {
			return nil, fmt.Errorf("merge %d has %d ids, must have 2", i, len(m))
		}
		merges[i] = pairOf(m[0], m[1])
	}
	return newBPE(merges)
}

func (t *bpeTokenizer) Marshal() ([]byte, error) {
	merges := make([][]int32, len(t.learned))
	for i, p := range t.learned {
		left, right := p.ids()
		merges[i] = []int32{left, right}
	}
	return encodeFile(bpeFile{newHeader(kindBPE), merges})
}
