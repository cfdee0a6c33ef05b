package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"prenorm/data"
	"prenorm/data/corpus"
	"prenorm/data/shard"
	"prenorm/data/token"
)

// The folder holds three kinds of files. Each is named by what it was made from, so that runs with other texts or tokenizers can share
// the folder, and two processes that prepare the same data write the same bytes:
//
//	sources-K.json      sizes, times and fingerprints of the files of a configuration, so that unchanged files need not be read
//	tokenizer-K-F.json  the tokenizer of a configuration and training text; F is its own fingerprint
//	train-K.tokens      ids of a text and a tokenizer; so is val-K.tokens. With .verified behind its name: the text came back from them
//
// Every file is written under a temporary name first, and checked when it is used: one that is damaged is made anew, with a note.

// cacheVersion is part of every name. It changes when the same input would give other tokens.
const cacheVersion = 1

// key is a name for parts, each of which JSON can express.
func key(parts ...any) string {
	text, err := json.Marshal(append(parts, cacheVersion))
	if err != nil { // not with the values below
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// record is the content of a sources file.
type record struct {
	Taken time.Time // when the texts began to be read
	Files []stamp
	Train corpus.Summary
	Val   corpus.Summary
	Few   int `json:",omitempty"` // see [corpus.Corpus.Few]
}

// stamp is what a file system says of a file.
type stamp struct {
	Path     string
	Size     int64
	Modified time.Time
}

// coarse is the coarsest tick of a file system's times (FAT has 2 s): a file that was written less than that before it was read may
// have been written to again without a trace.
const coarse = 2 * time.Second

func (b *builder) stamps() []stamp {
	var list []stamp
	for _, side := range sides {
		for _, f := range b.text.Files(side) {
			list = append(list, stamp{f.Path, f.Size, f.Modified.UTC()})
		}
	}
	return list
}

// recordPath is the sources file of this configuration, or "" where standard input makes remembering useless.
func (b *builder) recordPath() string {
	var paths [2][]string
	for _, side := range sides {
		for _, f := range b.text.Files(side) {
			if f.Path == "" {
				return ""
			}
			paths[side] = append(paths[side], f.Path)
		}
	}
	rule := data.Val{Fraction: b.cfg.Val.Fraction, By: b.cfg.Val.By}
	if len(paths[corpus.Val]) > 0 {
		rule = data.Val{} // not used
	}
	return filepath.Join(b.dir, "sources-"+key(append([]any{"sources", paths, rule, b.cfg.Invalid}, b.unusual()...)...)+".json")
}

// unusual is what else the texts depend on, where it is not as it was when plain text was all that could be read; so records of that time
// are still found.
func (b *builder) unusual() []any {
	var plain = data.Default()
	several := false
	for _, side := range sides {
		for _, f := range b.text.Files(side) {
			several = several || f.Format.Several()
		}
	}
	c := b.cfg
	if !several && c.Format == plain.Format && c.Newlines == plain.Newlines && c.NUL == plain.NUL {
		return nil
	}
	return []any{c.Format, c.Field, c.Newlines, c.NUL}
}

// recall takes the summaries from an earlier run if no file has changed since.
func (b *builder) recall() bool {
	path := b.recordPath()
	if path == "" {
		return false
	}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	var r record
	if err == nil {
		err = unseal(content, &r)
	}
	if err != nil {
		b.opt.Log(fmt.Sprintf("%s cannot be used, the text is read again: %v", path, err))
		return false
	}
	now := b.stamps()
	if len(now) != len(r.Files) {
		return false
	}
	for i, f := range now {
		if f.Path != r.Files[i].Path || f.Size != r.Files[i].Size || !f.Modified.Equal(r.Files[i].Modified) || !f.Modified.Before(r.Taken.Add(-coarse)) {
			return false
		}
	}
	b.text.FallBack(r.Few)
	b.sums, b.recalled = [2]corpus.Summary{r.Train, r.Val}, true
	return true
}

// scan reads all texts for their summaries and remembers them.
func (b *builder) scan() error {
	r := record{Taken: time.Now().UTC(), Files: b.stamps()}
	var err error
	if r.Train, r.Val, err = b.text.Scan(b.progress("reading text")); err != nil {
		return err
	}
	r.Few = b.text.Few()
	b.sums, b.recalled = [2]corpus.Summary{r.Train, r.Val}, false
	if path := b.recordPath(); path != "" {
		if err := shard.WriteFile(path, seal(r)); err != nil {
			b.opt.Log(fmt.Sprintf("the next run has to read the text again: %v", err))
		}
	}
	return nil
}

// progress reports a stage.
func (b *builder) progress(stage string) func(done, total int64) {
	return func(done, total int64) { b.opt.Progress(stage, done, total) }
}

// seal is a record in JSON, then its SHA-256 on a line of its own.
func seal(r record) []byte {
	text, err := json.Marshal(r)
	if err != nil { // a record has nothing that JSON cannot express
		panic(err)
	}
	return fmt.Appendf(text, "\n%x\n", sha256.Sum256(text))
}

func unseal(content []byte, r *record) error {
	text, sum, _ := bytes.Cut(content, []byte("\n"))
	if string(sum) != fmt.Sprintf("%x\n", sha256.Sum256(text)) {
		return errors.New("its checksum does not match its content")
	}
	return json.Unmarshal(text, r)
}

// fingerprint identifies a tokenizer by its file.
func fingerprint(t token.Tokenizer) ([32]byte, error) {
	file, err := t.Marshal()
	return sha256.Sum256(file), err
}

// tokenizer returns the fixed tokenizer, that of a file, that of an earlier run, or a new one, in this order.
func (b *builder) tokenizer() (token.Tokenizer, error) {
	settings := b.cfg.Tokenizer
	if b.opt.Tokenizer != nil {
		return b.opt.Tokenizer, nil
	}
	if settings.File != "" {
		return token.New(settings, nil, nil)
	}
	prefix := filepath.Join(b.dir, "tokenizer-"+key("tokenizer", settings, b.sums[corpus.Train].Fingerprint)+"-")
	t := b.savedTokenizer(prefix)
	if t == nil {
		var err error
		if t, err = b.newTokenizer(settings, prefix); err != nil {
			return nil, err
		}
	}
	if asked := settings.KnownVocab(); t.Vocab() < asked {
		b.opt.Log(fmt.Sprintf("the text yields %d of the %d token ids asked for (data.tokenizer.vocab)", t.Vocab(), asked))
	}
	return t, nil
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
		file, err := os.ReadFile(path)
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

// newTokenizer trains a tokenizer on the training text and keeps it.
func (b *builder) newTokenizer(settings token.Config, prefix string) (token.Tokenizer, error) {
	texts := Texts(b.documents(corpus.Train), settings.Kind)
	report := b.progress("training tokenizer")
	t, err := token.New(settings, texts, func(done, total int64) error {
		report(done, total)
		return b.opt.Stop()
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

// shard returns the ids of one side, of an earlier run where there are such.
func (b *builder) shard(side corpus.Side, t token.Tokenizer, print [32]byte) (*shard.Reader, error) {
	meta := shard.Meta{Vocab: t.Vocab(), Tokenizer: print, Source: b.sums[side].Fingerprint}
	name := [...]string{corpus.Train: "train-", corpus.Val: "val-"}[side] + key("tokens", shard.Version, meta) + ".tokens"
	path := filepath.Join(b.dir, name)
	r, err := shard.OpenUnless(path, b.opt.Stop)
	if stopped := b.opt.Stop(); err != nil && stopped != nil {
		return nil, stopped
	}
	if err == nil {
		if r.Meta() == meta {
			if err := b.verify(path, side, t); err != nil {
				return nil, errors.Join(err, r.Close())
			}
			return r, nil
		}
		err = errors.New("it is of another text or tokenizer")
		r.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		b.opt.Log(fmt.Sprintf("%s cannot be used, the text is encoded again: %v", path, err))
	}
	if err := b.writeShard(path, meta, side, t); err != nil {
		return nil, err
	}
	return shard.OpenUnless(path, b.opt.Stop)
}
