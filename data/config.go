// Package data describes where a run's text comes from and how it becomes tokens. Its sub-packages do the work, in the order of the flow:
// corpus (files to documents), token (documents to ids), shard (ids on disk), batch (ids to [B, T]).
package data

import "prenorm/data/token"

// Config is the section `data:` of a run file.
type Config struct {
	Train     []string     `yaml:"train"`        // files, globs, folders or "-" for standard input; $VARS are expanded, $GOROOT always
	Val       Val          `yaml:"val"`          // where the validation documents come from
	Tokenizer token.Config `yaml:"tokenizer"`    // how it becomes ids
	Format    string       `yaml:"format"`       // of standard input and of files whose names do not tell: an extension such as txt, jsonl or csv.gz
	Field     string       `yaml:"field"`        // where a row's text is: a key or column, with dots for what lies inside (jsonl, csv, tsv, parquet)
	Newlines  string       `yaml:"newlines"`     // keep | fold (CR LF becomes LF)
	NUL       string       `yaml:"nul"`          // fail | keep | drop (bytes of value 0)
	Invalid   string       `yaml:"invalid_utf8"` // fail | replace (by U+FFFD) | drop
	Verify    bool         `yaml:"verify"`       // all text must come back from its ids, byte by byte, when it is encoded
	Cache     string       `yaml:"cache"`        // folder of token shards; "" = beside the run folder
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
	}
}
