// Package data describes where a run's text comes from and how it becomes tokens. Its sub-packages do the work, in the order of the flow:
// corpus (files to documents), token (documents to ids), shard (ids on disk), batch (ids to [B, T]).
package data

import (
	"slices"

	"prenorm/data/token"
)

// Config is the section `data:` of a run file.
type Config struct {
	Train      []string     `yaml:"train"`           // files, globs, folders or "-" for standard input; $VARS are expanded, $GOROOT always
	Val        Val          `yaml:"val"`             // where the validation documents come from
	Sources    []Source     `yaml:"sources"`         // several texts with weights, in place of train
	Stages     []Stage      `yaml:"stages"`          // weights of the sources from later steps on
	Tokenizer  token.Config `yaml:"tokenizer"`       // how it becomes ids
	Format     string       `yaml:"format"`          // of standard input and of files whose names do not tell: an extension such as txt, jsonl or csv.gz
	Field      string       `yaml:"field"`           // where a row's text is: a key or column, with dots for what lies inside (jsonl, csv, tsv, parquet)
	Newlines   string       `yaml:"newlines"`        // keep | fold (CR LF becomes LF)
	NUL        string       `yaml:"nul"`             // fail | keep | drop (bytes of value 0)
	Invalid    string       `yaml:"invalid_utf8"`    // fail | replace (by U+FFFD) | drop
	Packing    string       `yaml:"packing"`         // stream | documents (whole, by best fit)
	Cross      bool         `yaml:"cross_documents"` // attention crosses documents
	Verify     bool         `yaml:"verify"`          // all text must come back from its ids, byte by byte, when it is encoded
	Duplicates string       `yaml:"duplicates"`      // keep | drop_exact | drop_near (documents that are copies of an earlier one of the same source)
	Cache      string       `yaml:"cache"`           // folder of token shards; "" = beside the run folder
}

// Source is one of several texts.
type Source struct {
	Name   string   `yaml:"name"`
	Train  []string `yaml:"train"`  // as data.train
	Val    []string `yaml:"val"`    // as data.val.files; none = data.val.fraction of the source
	Weight float64  `yaml:"weight"` // its share of the rows from step 1 on, in proportion to the other weights
	Field  string   `yaml:"field"`  // "" = data.field
}

// SetDefaults makes s what an entry of a run file is decoded onto.
func (s *Source) SetDefaults() { s.Weight = 1 }

// Stage gives the sources other weights from a step on.
type Stage struct {
	From    int       `yaml:"from"`    // step
	Weights []float64 `yaml:"weights"` // one a source, in their order
}

// Starts says whether it has to be known where documents begin.
func (c Config) Starts() bool { return c.Packing == "documents" || !c.Cross }

// Paths are all patterns that name text.
func (c Config) Paths() []string {
	paths := slices.Concat(c.Train, c.Val.Files)
	for _, s := range c.Sources {
		paths = slices.Concat(paths, s.Train, s.Val)
	}
	return paths
}

// Each is the configuration of every source by itself, or c where there are none.
func (c Config) Each() []Config {
	if len(c.Sources) == 0 {
		return []Config{c}
	}
	var each []Config
	for _, s := range c.Sources {
		own := c
		own.Train, own.Val.Files, own.Sources, own.Stages = s.Train, s.Val, nil, nil
		if s.Field != "" {
			own.Field = s.Field
		}
		each = append(each, own)
	}
	return each
}

// Weights are those of the sources from step 1 on.
func (c Config) Weights() []float64 {
	var w []float64
	for _, s := range c.Sources {
		w = append(w, s.Weight)
	}
	return w
}

// Val says how validation text is set apart from training text.
type Val struct {
	Files    []string `yaml:"files"`    // separate files; then fraction is not used
	Fraction float64  `yaml:"fraction"` // of the text
	By       string   `yaml:"by"`       // auto (hash for several documents; end for one, and for a few of which hash would leave a side empty) | end (the last part of the text) | hash (whole documents, by the hash of their text)
}

// Default is what a run file is decoded onto.
func Default() Config {
	return Config{
		Val:       Val{Fraction: 0.1, By: "auto"},
		Tokenizer: token.DefaultConfig(),
		Format:    "txt",
		Field:     "text",
		Newlines:  "keep",
		NUL:       "keep",
		Invalid:   "fail",
		Packing:   "stream",
		Cross:     true,

		Duplicates: "keep",
	}
}
