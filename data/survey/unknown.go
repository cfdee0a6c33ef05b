package survey

import (
	"errors"
	"fmt"
	"slices"

	"prenorm/data"
	"prenorm/data/baseline"
	"prenorm/data/corpus"
	"prenorm/data/shard"
	"prenorm/data/token"
)

// Unknown is the kind of the tokenizer of token files that nothing names.
const Unknown = "unknown"

// nameless stands for a tokenizer of which no more is known than that its ids lie below a number.
type nameless int

func (n nameless) Kind() string { return Unknown }

func (n nameless) Vocab() int { return int(n) }

func (n nameless) Separator() int32 { return -1 }

var errNameless = errors.New("the tokenizer of the token ids is not known")

func (n nameless) Encode(dst []int32, _ []byte) ([]int32, error) { return dst, errNameless }

// Decode implements token.Tokenizer: ids that nobody knows stand for no text.
func (n nameless) Decode(dst []byte, _ ...int32) ([]byte, error) { return dst, nil }

// Marshal implements token.Tokenizer with what tells one from another; nothing reads it back.
func (n nameless) Marshal() ([]byte, error) { return fmt.Appendf(nil, "ids below %d", int(n)), nil }

func unknownNote(vocab int) string {
	words := fmt.Sprintf("The files hold token ids and not what they mean, and no tokenizer is named that is made without text. So documents, bytes, bits a byte, scripts, copies and overlap "+
		"are not known; V is taken for %d, one more than the highest id. Name the tokenizer that the files were made with: --tokenizer gpt2, or its file.", vocab)
	if t, err := token.Open("gpt2"); err == nil && vocab == t.Vocab() {
		words += fmt.Sprintf(" The highest id, %d, is gpt2's end of text.", t.Separator())
	}
	return words
}

// IDs returns a tokenizer that stands for one that is not known, for [dataset.Options]: that of a configuration whose text is token files alone and
// whose tokenizer would have to be trained on text. It reads all ids for the highest. Of other configurations it is nil.
func IDs(cfg data.Config, stop func() error) (token.Tokenizer, error) {
	if slices.Contains(cfg.Paths(), "-") {
		return nil, nil
	}
	if cfg.Tokenizer.File != "" {
		return nil, nil
	}
	if _, err := token.New(cfg.Tokenizer, nil, nil); err == nil {
		return nil, nil
	}
	highest := int32(0)
	for _, own := range cfg.Each() {
		files, err := idFiles(own)
		if err != nil || files == nil {
			return nil, nil // what is wrong is told where the text is prepared
		}
		for _, path := range files {
			if highest, err = highestOf(highest, path, stop); err != nil {
				return nil, err
			}
		}
	}
	return nameless(highest + 1), nil
}

// idFiles are the files of a text, nil where one of them is no token file.
func idFiles(cfg data.Config) (paths []string, err error) {
	text, err := corpus.Open(cfg, nil, "")
	if err != nil {
		return nil, err
	}
	for _, side := range []corpus.Side{corpus.Train, corpus.Val} {
		for _, f := range text.Files(side) {
			if !shard.IsForeign(f.Path) {
				return nil, text.Close()
			}
			paths = append(paths, f.Path)
		}
	}
	return paths, text.Close()
}

// highestOf is the highest id of a token file, or one from before that is higher.
func highestOf(highest int32, path string, stop func() error) (_ int32, err error) {
	f, err := shard.OpenForeign(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.CheckWidth(0); err != nil {
		return 0, err
	}
	var text baseline.Tokens = f
	for at, ids := range blocks(text) {
		if err := stop(); err != nil {
			return 0, err
		}
		if err := text.Read(ids, at); err != nil {
			return 0, err
		}
		highest = max(highest, slices.Max(ids))
	}
	return highest, nil
}
