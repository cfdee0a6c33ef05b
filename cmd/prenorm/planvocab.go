package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/configs/problem"
	"prenorm/data/corpus"
	"prenorm/data/dataset"
	"prenorm/data/token"
)

// Where a plan's vocabulary comes from.
const (
	vocabGiven     = "model.vocab"
	vocabTokenizer = "tokenizer" // its settings or its file
	vocabText      = "text"      // whose characters were counted
	vocabAssumed   = "assumed"
)

// assumedVocab stands for the characters of a text that is not there: printable ASCII, which has 95, and the line break.
const assumedVocab = 96

// vocabOf is the number of ids that a run's model will have, and where that is known from.
func vocabOf(cmd *cobra.Command, l *configs.Loaded) (vocab int, source string, err error) {
	run := l.Run
	if run.Model.Vocab > 0 {
		return run.Model.Vocab, vocabGiven, nil
	}
	settings := run.Data.Tokenizer
	if known := settings.KnownVocab(); known > 0 {
		return known, vocabTokenizer, nil
	}
	if settings.File != "" {
		t, err := token.New(settings, nil, nil)
		if err != nil {
			return 0, "", fmt.Errorf("data.tokenizer.file: %w", err)
		}
		return t.Vocab(), vocabTokenizer, nil
	}
	if settings.Kind != "char" {
		var p problem.List
		p.Addf("model.vocab", "0 takes the tokenizer's size, which for kind %s depends on the text, and a plan reads none (give it: --set model.vocab=N)", settings.Kind)
		return 0, "", l.Locate(p)
	}
	counted, err := countCharacters(run)
	switch {
	case err == nil:
		return counted, vocabText, nil
	case !errors.Is(err, corpus.ErrNoText) && len(run.Data.NeedsData()) == 0:
		note(cmd.ErrOrStderr(), "warning: the text's characters were not counted: %v", err)
	}
	return assumedVocab, vocabAssumed, nil
}

// countCharacters trains the tokenizer as the run would.
func countCharacters(run configs.Run) (int, error) {
	var texts []token.Texts
	for _, source := range run.Data.Each() {
		text, err := corpus.Open(source, nil, "")
		if err != nil {
			return 0, err
		}
		defer text.Close()
		texts = append(texts, dataset.Texts(text.Documents(corpus.Train), token.PlacesToTrain(source.Tokenizer.Kind)))
	}
	t, err := token.New(run.Data.Tokenizer, dataset.Join(texts), nil)
	if err != nil {
		return 0, err
	}
	return t.Vocab(), nil
}
