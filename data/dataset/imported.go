package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"prenorm/data/corpus"
	"prenorm/data/shard"
	"prenorm/data/token"
)

// imported is text that comes as token files of other programs; see [shard.Foreign]. The ids of all files of a side follow each other as
// they are.
type imported struct {
	name      string // of the first file
	files     [2][]corpus.File
	tokenizer token.Tokenizer // set once it is known
	print     [32]byte
	highest   int32 // id that was read
}

// tokenFiles are the files of the text where they are token files, nil where they are text.
func (b *builder) tokenFiles() (*imported, error) {
	im := &imported{}
	var texts, ids string
	for _, side := range sides {
		im.files[side] = b.text.Files(side)
		for _, f := range im.files[side] {
			if shard.IsForeign(f.Path) {
				ids = f.Name
			} else {
				texts = f.Name
			}
		}
	}
	im.name = ids
	switch {
	case ids == "":
		return nil, nil
	case texts != "":
		return nil, fmt.Errorf("%s holds token ids (.bin) and %s text: a text is one or the other (put them into sources of their own, data.sources)", ids, texts)
	case len(im.files[corpus.Val]) == 0 && b.cfg.Val.By == "hash":
		return nil, fmt.Errorf("%s holds token ids, which are not divided by hash: use data.val.by end, or name validation files (%s)", ids, corpus.ValFiles(b.name))
	}
	return im, nil
}

// unnamed is the error of ids whose tokenizer is not named.
func (im *imported) unnamed(kind string) error {
	name := "data.tokenizer.kind: gpt2, or data.tokenizer.file"
	if meta, _ := im.meta(); meta != "" {
		name = fmt.Sprintf("data.tokenizer.file: %s, which lies there and which nanoGPT writes where ids are characters", meta)
	} else if kind == "char" {
		name = "data.tokenizer.file: meta.pkl, which nanoGPT writes beside ids of characters"
	}
	return fmt.Errorf("%s holds token ids and not what they mean, and a tokenizer of kind %s is made from text: name the one that they were made with (%s)", im.name, kind, name)
}

// measure finds what the ids are, by reading them unless an earlier run has.
func (b *builder) measure(t token.Tokenizer, print [32]byte) error {
	b.imported.tokenizer, b.imported.print = t, print
	b.noteMeta()
	if !b.recall() {
		if err := b.scan(); err != nil {
			return err
		}
	}
	if highest, vocab := b.imported.highest, t.Vocab(); highest > 0 && vocab > 1024 && int(highest) < vocab/4 {
		b.log(fmt.Sprintf("%s: the highest token id is %d, far below the %d ids of tokenizer %s: if the ids were made with another, name that (data.tokenizer)", b.imported.name, highest, vocab, t.Kind()))
	}
	return nil
}

// meta finds nanoGPT's characters beside a token file, "" where there are none.
func (im *imported) meta() (path, beside string) {
	for _, side := range sides {
		for _, f := range im.files[side] {
			if _, err := os.Stat(filepath.Join(filepath.Dir(f.Path), "meta.pkl")); err == nil {
				return filepath.Join(filepath.Dir(f.Name), "meta.pkl"), f.Name
			}
		}
	}
	return "", ""
}

// noteMeta tells of nanoGPT's characters beside token files that another tokenizer is named for.
func (b *builder) noteMeta() {
	kind := b.imported.tokenizer.Kind()
	if meta, beside := b.imported.meta(); meta != "" && kind != "char" {
		b.log(fmt.Sprintf("meta.pkl lies beside %s: nanoGPT writes it where ids are characters, and the ids are taken for those of tokenizer %s; "+
			"for characters name it (--set data.tokenizer.file=%s)", beside, kind, meta))
	}
}

// scan reads all ids.
func (im *imported) scan(b *builder) (train, val corpus.Summary, err error) {
	var sums [2]corpus.Summary
	for _, side := range sides {
		if sums[side], err = im.summary(b, side); err != nil {
			break
		}
	}
	return sums[corpus.Train], sums[corpus.Val], err
}

// summary counts documents, and bytes of text by decoding.
func (im *imported) summary(b *builder, side corpus.Side) (sum corpus.Summary, err error) {
	hash, separator := sha256.New(), im.tokenizer.Separator()
	var text, raw []byte
	inside := false // a document
	err = im.each(b, side, "reading tokens", func(ids []int32) error {
		raw = raw[:0]
		for _, id := range ids {
			raw = binary.LittleEndian.AppendUint32(raw, uint32(id))
			im.highest = max(im.highest, id)
		}
		hash.Write(raw)
		for start := 0; start < len(ids); {
			end := start
			for end < len(ids) && ids[end] != separator {
				end++
			}
			if end > start && !inside {
				inside = true
				sum.Documents++
			}
			var err error
			if text, err = im.tokenizer.Decode(text[:0], ids[start:end]...); err != nil {
				return err
			}
			sum.Bytes += int64(len(text))
			if end < len(ids) {
				inside = false
			}
			start = end + 1
		}
		return nil
	})
	hash.Sum(sum.Fingerprint[:0])
	return sum, err
}

// span is what a side takes of the ids of its files, which are opened.
func (im *imported) span(b *builder, side corpus.Side) (files []*shard.Foreign, from, to int64, err error) {
	shared := len(im.files[corpus.Val]) == 0
	list := im.files[side]
	if shared {
		list = im.files[corpus.Train]
	}
	for _, f := range list {
		t, err := shard.OpenForeign(f.Path)
		if err != nil {
			return files, 0, 0, err
		}
		files = append(files, t)
		if err := t.CheckWidth(im.tokenizer.Vocab()); err != nil {
			return files, 0, 0, err
		}
		to += t.Len()
	}
	if shared {
		if cut := corpus.CutAt(b.cfg.Val.Fraction, to); side == corpus.Train {
			to = cut
		} else {
			from = cut
		}
	}
	return files, from, to, nil
}

// each reads the ids of a side. An id outside the vocabulary is an error that names its place.
func (im *imported) each(b *builder, side corpus.Side, stage string, do func(ids []int32) error) (err error) {
	files, from, to, err := im.span(b, side)
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
	}()
	if err != nil {
		return err
	}
	buffer := make([]int32, 1<<16)
	before := int64(0) // ids of the files before
	for _, f := range files {
		for at := max(from-before, 0); at < min(f.Len(), to-before); {
			if err := b.opt.Stop(); err != nil {
				return err
			}
			ids := buffer[:min(int64(len(buffer)), min(f.Len(), to-before)-at)]
			if err := f.Read(ids, at); err != nil {
				return err
			}
			for i, id := range ids {
				if int(id) >= im.tokenizer.Vocab() {
					return fmt.Errorf("%s, byte %d: id %d is outside the vocabulary of tokenizer %s, which has %d ids: name the tokenizer that the file was made with (data.tokenizer)",
						f.Name(), f.Byte(at+int64(i)), id, im.tokenizer.Kind(), im.tokenizer.Vocab())
				}
			}
			if err := do(ids); err != nil {
				return err
			}
			at += int64(len(ids))
			b.opt.Progress(strings.Join([]string{stage, "of the", side.String(), "text"}, " "), 2*(before+at-from), 2*(to-from))
		}
		before += f.Len()
	}
	return nil
}

// importShard copies one side's ids into a shard.
func (b *builder) importShard(path string, meta shard.Meta, side corpus.Side) error {
	w, err := shard.Create(path, meta)
	if err != nil {
		return err
	}
	defer w.Abort()
	hash := sha256.New()
	var raw []byte
	err = b.imported.each(b, side, "copying tokens", func(ids []int32) error {
		raw = raw[:0]
		for _, id := range ids {
			raw = binary.LittleEndian.AppendUint32(raw, uint32(id))
		}
		hash.Write(raw)
		return w.Append(ids)
	})
	if err != nil {
		return err
	}
	if [32]byte(hash.Sum(nil)) != meta.Source {
		return b.text.Changed(side)
	}
	return w.Commit()
}
