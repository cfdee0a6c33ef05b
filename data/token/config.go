package token

import "prenorm/configs/problem"

// Config chooses a tokenizer of the registry. The yaml tags are the keys below `data.tokenizer:` in a run file.
type Config struct {
	Kind    string `yaml:"kind"`    // a registered kind
	Vocab   int    `yaml:"vocab"`   // size to train to (bpe)
	Unknown string `yaml:"unknown"` // char: fail (an unknown character is an error) | unk (it becomes <unk>)
	File    string `yaml:"file"`    // an existing tokenizer file in place of training one
}

// DefaultConfig is what a run file is decoded onto.
func DefaultConfig() Config { return Config{Kind: "bpe", Vocab: 1024, Unknown: "fail"} }

// Problems returns every rule that c breaks.
func (c Config) Problems() problem.List {
	var l problem.List
	l.OneOf("kind", c.Kind, Kinds()...)
	l.OneOf("unknown", c.Unknown, "fail", "unk")
	if m, known := makers[c.Kind]; known && m.Check != nil && c.File == "" {
		m.Check(c, &l)
	}
	return l
}

// KnownVocab returns the vocabulary size that the configuration alone settles, or 0 where it depends on the text or on a file.
func (c Config) KnownVocab() int {
	if m, known := makers[c.Kind]; known && m.KnownVocab != nil && c.File == "" {
		return m.KnownVocab(c)
	}
	return 0
}
