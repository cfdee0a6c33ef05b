package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"prenorm/data"
	"prenorm/data/corpus"
	"prenorm/data/regular"
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
	Few   int          `json:",omitempty"` // see [corpus.Corpus.Few]
	Left  *corpus.Left `json:",omitempty"` // nil for none
	Odd   *corpus.Odd  `json:",omitempty"` // nil for none
	Same  bool         `json:",omitempty"` // see [corpus.Found]
	Held  *corpus.Held `json:",omitempty"` // nil for none

	Highest int32 `json:",omitempty"` // id of token files; 0 where an earlier program wrote the record
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
	if b.imported != nil {
		return filepath.Join(b.dir, "sources-"+key("tokens", paths, rule, b.imported.print)+".json")
	}
	parts := append([]any{"sources", paths, rule, b.cfg.Invalid}, b.unusual()...)
	if c := b.cfg.Duplicates; c != data.Default().Duplicates {
		parts = append(parts, c)
	}
	return filepath.Join(b.dir, "sources-"+key(parts...)+".json")
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
	content, err := regular.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	var r record
	if err == nil {
		err = shard.Unseal(content, &r)
	}
	if err != nil {
		b.opt.Log(fmt.Sprintf("%s cannot be used, the text is read again: %v", path, err))
		return false
	}
	now := b.stamps()
	if len(now) != len(r.Files) || min(r.Train.Documents, r.Val.Documents) < 0 || min(r.Train.Bytes, r.Val.Bytes) < 0 {
		return false
	}
	for i, f := range now {
		if f.Path != r.Files[i].Path || f.Size != r.Files[i].Size || !f.Modified.Equal(r.Files[i].Modified) || !f.Modified.Before(r.Taken.Add(-coarse)) {
			return false
		}
	}
	found := corpus.Found{Train: r.Train, Val: r.Val, Same: r.Same}
	if b.imported != nil {
		b.imported.highest = r.Highest
	}
	if r.Odd != nil {
		found.Odd = *r.Odd
	}
	if r.Left != nil {
		found.Left = *r.Left
	}
	if r.Held != nil {
		found.Held = *r.Held
	}
	b.text.FallBack(r.Few)
	b.text.Remember(found)
	b.sums, b.recalled = [2]corpus.Summary{r.Train, r.Val}, true
	return true
}

// scan reads all texts for their summaries and remembers them.
func (b *builder) scan() error {
	r := record{Taken: time.Now().UTC(), Files: b.stamps()}
	var err error
	if b.imported != nil {
		r.Train, r.Val, err = b.imported.scan(b)
		r.Highest = b.imported.highest
	} else {
		r.Train, r.Val, err = b.text.Scan(b.progress("reading text"))
	}
	if err != nil {
		return err
	}
	r.Few = b.text.Few()
	found := b.text.Found()
	if found.Left.Copies > 0 {
		r.Left = &found.Left
	}
	if found.Odd != (corpus.Odd{}) {
		r.Odd = &found.Odd
	}
	if found.Held.Documents > 0 {
		r.Held = &found.Held
	}
	r.Same = found.Same
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

// seal is a record as its file has it.
func seal(r record) []byte {
	text, err := json.Marshal(r)
	if err != nil { // a record has nothing that JSON cannot express
		panic(err)
	}
	return shard.Seal(text)
}

// fingerprint identifies a tokenizer by its file.
func fingerprint(t token.Tokenizer) ([32]byte, error) {
	file, err := t.Marshal()
	return sha256.Sum256(file), err
}

// shardPath is where the ids of one side are, and what their file says that they are of.
func (b *builder) shardPath(side corpus.Side, t token.Tokenizer, print [32]byte) (string, shard.Meta) {
	meta := shard.Meta{Vocab: t.Vocab(), Tokenizer: print, Source: b.sums[side].Fingerprint}
	name := [...]string{corpus.Train: "train-", corpus.Val: "val-"}[side] + key("tokens", shard.Version, meta) + ".tokens"
	return filepath.Join(b.dir, name), meta
}

// shard returns the ids of one side, of an earlier run where there are such.
func (b *builder) shard(side corpus.Side, t token.Tokenizer, print [32]byte) (*shard.Reader, error) {
	path, meta := b.shardPath(side, t, print)
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
	if b.imported != nil {
		err = b.importShard(path, meta, side)
	} else {
		err = b.writeShard(path, meta, side, t)
	}
	if err != nil {
		return nil, err
	}
	return shard.OpenUnless(path, b.opt.Stop)
}
