package data

import (
	"slices"
	"strings"

	"prenorm/configs/problem"
)

// The words that a run file may use.
var (
	byKinds      = []string{"auto", "end", "hash"}
	formatWords  = strings.Fields("txt jsonl csv tsv parquet tar txt.gz jsonl.gz csv.gz tsv.gz parquet.gz tar.gz txt.zst jsonl.zst csv.zst tsv.zst parquet.zst tar.zst")
	newlineKinds = []string{"fold", "keep"}
	nulKinds     = []string{"drop", "fail", "keep"}
	packingKinds = []string{"documents", "stream"}
	copyKinds    = []string{"drop_exact", "drop_near", "keep"}

	// InvalidKinds are the values of data.invalid_utf8.
	InvalidKinds = []string{"drop", "fail", "replace"}
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
	c.checkSources(&l)
	l.OneOf("packing", c.Packing, packingKinds...)
	l.OneOf("val.by", c.Val.By, byKinds...)
	l = append(l, c.Tokenizer.Problems().Under("tokenizer")...)
	l.OneOf("duplicates", c.Duplicates, copyKinds...)
	return append(l, c.ReadingProblems()...)
}

// ReadingProblems returns the rules that the settings of how files are read break.
func (c Config) ReadingProblems() problem.List {
	var l problem.List
	l.OneOf("format", c.Format, formatWords...)
	if slices.Contains(strings.Split(c.Field, "."), "") {
		l.Addf("field", "%q has an empty name in it (a key such as text, or meta.text for a key inside another)", c.Field)
	}
	l.OneOf("newlines", c.Newlines, newlineKinds...)
	l.OneOf("nul", c.NUL, nulKinds...)
	l.OneOf("invalid_utf8", c.Invalid, InvalidKinds...)
	return l
}

// NeedsData returns the problem of a run that reads text and names none.
func (c Config) NeedsData() problem.List {
	var l problem.List
	if len(c.Train) == 0 && len(c.Sources) == 0 {
		l.Addf("train", "names no text (a file, glob, folder or \"-\"; --set data.train=PATH)")
	}
	return l
}

func noEmpty(l *problem.List, key string, paths []string) {
	for i, p := range paths {
		if p == "" {
			l.Addf(key, "entry %d is empty (a file, glob or folder)", i+1)
		}
	}
}
