package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"prenorm/data/corpus"
	"prenorm/data/regular"
	"prenorm/data/shard"
	"prenorm/data/token"
)

// tokenizer returns the tokenizer that is known, or a new one.
func (all builders) tokenizer() (token.Tokenizer, error) {
	b := all[0]
	settings := b.cfg.Tokenizer
	t, err := all.namedTokenizer()
	if t != nil || err != nil {
		return t, err
	}
	prefix := all.tokenizerPrefix()
	if t = b.savedTokenizer(prefix); t == nil {
		if t, err = all.newTokenizer(settings, prefix); err != nil {
			return nil, err
		}
	}
	if asked := settings.KnownVocab(); t.Vocab() < asked {
		b.opt.Log(fmt.Sprintf("the text yields %d of the %d token ids asked for, and the run has those: set data.tokenizer.vocab to %[1]d, or give more text", t.Vocab(), asked))
	}
	return t, nil
}

// namedTokenizer returns the fixed tokenizer, that of a file, or the one of ids that are another program's, in this order. It is nil where the text
// decides.
func (all builders) namedTokenizer() (token.Tokenizer, error) {
	b := all[0]
	settings := b.cfg.Tokenizer
	if b.opt.Tokenizer != nil {
		return b.opt.Tokenizer, nil
	}
	if settings.File != "" {
		return token.New(settings, nil, nil)
	}
	for _, b := range all {
		if b.imported != nil {
			t, err := token.New(settings, nil, nil)
			if err != nil { // it wants text
				return nil, b.imported.unnamed(settings.Kind)
			}
			return t, nil
		}
	}
	return nil, nil
}

// tokenizerPrefix begins the path of the tokenizer of the settings and of all training texts.
func (all builders) tokenizerPrefix() string {
	parts := []any{"tokenizer", all[0].cfg.Tokenizer}
	for _, b := range all {
		parts = append(parts, b.sums[corpus.Train].Fingerprint)
	}
	return filepath.Join(all[0].dir, "tokenizer-"+key(parts...)+"-")
}

// savedTokenizer returns the tokenizer of an earlier run, or nil.
func (b *builder) savedTokenizer(prefix string) token.Tokenizer {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		path := filepath.Join(b.dir, entry.Name())
		rest, mine := strings.CutPrefix(path, prefix)
		name, whole := strings.CutSuffix(rest, ".json")
		if !mine || !whole {
			continue
		}
		file, err := regular.ReadFile(path)
		if sum := sha256.Sum256(file); err == nil && hex.EncodeToString(sum[:]) != name {
			err = errors.New("its content does not match the fingerprint in its name")
		}
		if err == nil {
			t, broken := token.Unmarshal(file)
			if broken == nil {
				return t
			}
			err = broken
		}
		b.opt.Log(fmt.Sprintf("%s cannot be used, the tokenizer is made again: %v", path, err))
	}
	return nil
}

// newTokenizer trains a tokenizer on the training texts of all sources and keeps it.
func (all builders) newTokenizer(settings token.Config, prefix string) (token.Tokenizer, error) {
	var texts []token.Texts
	for _, b := range all {
		texts = append(texts, Texts(b.documents(corpus.Train), token.PlacesToTrain(settings.Kind)))
	}
	report := all[0].progress(tokenizerStage)
	t, err := token.New(settings, Join(texts), func(done, total int64) error {
		report(done, total)
		return all.stop()
	})
	if err != nil {
		return nil, err
	}
	file, err := t.Marshal()
	if err != nil {
		return nil, err
	}
	return t, shard.WriteFile(fmt.Sprintf("%s%x.json", prefix, sha256.Sum256(file)), file)
}
