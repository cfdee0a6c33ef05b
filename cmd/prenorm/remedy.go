package main

import "strings"

// remedies are what texts of packages data/corpus and data/token advise for a run file, and the advice where a trained model reads a text,
// which has no run file and whose tokenizer is what it is. A test holds the left sides to what the packages say.
var remedies = strings.NewReplacer(
	"set data.invalid_utf8 to replace (--set data.invalid_utf8=replace)", "add --invalid-utf8 replace",
	"mend the text, set data.invalid_utf8: replace, set data.tokenizer.unknown: unk, or use kind byte or bpe", "mend the text",
	"train the tokenizer on text that has it, set data.tokenizer.unknown: unk, or use kind byte or bpe",
	"leave it out, or use a model that was trained on text that has it, with data.tokenizer.unknown: unk, or with tokenizer kind byte or bpe",
)

// trainedError is an error with the remedies of commands that use a trained model.
type trainedError struct{ err error }

// ofTrained puts the remedies of commands that use a trained model into an error's text.
func ofTrained(err error) error { return trainedError{err} }

func (e trainedError) Error() string { return remedies.Replace(e.err.Error()) }
func (e trainedError) Unwrap() error { return e.err }
