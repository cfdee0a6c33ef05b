package data

import (
	"prenorm/configs/problem"
)

// The words that a run file may use.
var (
	byKinds        = []string{"auto", "end", "hash"}
	tokenizerKinds = []string{"byte", "char", "bpe", "gpt2"}
	unknownKinds   = []string{"fail", "unk"}
	invalidKinds   = []string{"fail", "replace"}
)

// The smallest trained vocabulary is every byte, the separator and one merge.
const (
	minBPE = 258
	maxBPE = 1 << 20
)

// Problems returns every rule of the section `data:` that c breaks. Keys are relative to the section. A missing data.train is none: what
// reads no text (a plan, a benchmark) needs none; see [Config.NeedsData].
func (c Config) Problems() problem.List {
	var l problem.List
	noEmpty(&l, "train", c.Train)
	noEmpty(&l, "val.files", c.Val.Files)
	if fraction := (problem.Interval{Low: 0, High: 1, OpenLow: true, OpenHigh: true}); len(c.Val.Files) == 0 && !fraction.Contains(c.Val.Fraction) {
		l.Addf("val.fraction", "%s is out of range (%s, or name separate files in val.files)", problem.Number(c.Val.Fraction), fraction)
	}
	l.OneOf("val.by", c.Val.By, byKinds...)
	l.OneOf("tokenizer.kind", c.Tokenizer.Kind, tokenizerKinds...)
	if c.Tokenizer.Kind == "bpe" && c.Tokenizer.File == "" {
		l.Whole("tokenizer.vocab", c.Tokenizer.Vocab, minBPE, maxBPE)
	}
	l.OneOf("tokenizer.unknown", c.Tokenizer.Unknown, unknownKinds...)
	l.OneOf("invalid_utf8", c.Invalid, invalidKinds...)
	return l
}

// NeedsData returns the problem of a run that reads text and names none.
func (c Config) NeedsData() problem.List {
	var l problem.List
	if len(c.Train) == 0 {
		l.Addf("train", "names no text (a file, glob, folder or \"-\"; --set data.train=PATH)")
	}
	return l
}

// KnownVocab returns the vocabulary size that the configuration alone settles, or 0 where it depends on the text or on a file.
func (t Tokenizer) KnownVocab() int {
	switch {
	case t.Kind == "byte":
		return 256
	case t.Kind == "gpt2":
		return 50257
	case t.Kind == "bpe" && t.File == "":
		return t.Vocab
	}
	return 0
}

func noEmpty(l *problem.List, key string, paths []string) {
	for i, p := range paths {
		if p == "" {
			l.Addf(key, "entry %d is empty (a file, glob or folder)", i+1)
		}
	}
}
