// Package corpus turns the file patterns of a run into two deterministic sequences of documents, one to train on and one to validate on.
// It knows no token ids.
package corpus

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"prenorm/data"
)

// Document is one text: valid UTF-8 without a byte order mark, line ends as in the file.
type Document struct {
	Name   string // the file's path, or "<stdin>"
	Offset int    // where Text starts in the file's text, in bytes; not 0 for the second part of a divided document
	Text   []byte
}

// Documents is a sequence of documents, or the error that ended it. The text belongs to the caller.
type Documents = iter.Seq2[Document, error]

// Side is one of the two parts of a corpus.
type Side int

// The two sides.
const (
	Train Side = iota
	Val
)

func (s Side) String() string { return [...]string{"training", "validation"}[s] }

// Corpus is the resolved text of a run. Files are read anew by every pass, one document at a time; only standard input is held in memory.
type Corpus struct {
	files [2][]File // Val's are empty unless the validation text has files of its own
	rule  rule      // how files[Train] is divided otherwise
	auto  bool      // rule is hash unless that leaves a side empty
	few   int       // documents that could not be divided by hash; 0 = the rule is as chosen
	fail  bool      // invalid UTF-8 is an error

	// Stop, where it is not nil, is asked again and again while text is read; an error that it returns ends the reading.
	Stop func() error
}

// rule is a way to divide one list of files.
type rule struct {
	by       string // "" (separate files), "hash" or "end"
	fraction float64
	cut      place // of "end"
}

// place is where the last part of the text starts: in file number file, after share of that file's bytes.
type place struct {
	file  int
	share float64
}

// Open resolves the patterns of cfg and looks at the files' sizes; it reads no text but standard input, which is stdin.
func Open(cfg data.Config, stdin io.Reader) (*Corpus, error) {
	r := resolver{stdin: stdin}
	c, err := r.undivided("data.train", cfg.Train, cfg.Invalid)
	if err != nil {
		return nil, err
	}
	if len(cfg.Val.Files) > 0 {
		if c.files[Val], err = r.resolve("data.val.files", cfg.Val.Files); err != nil {
			return nil, err
		}
		c.files[Train] = without(c.files[Train], c.files[Val])
		if len(c.files[Train]) == 0 {
			return nil, fmt.Errorf("data.train: every file is named by data.val.files too, so none is left to train on: name other files with --set data.val.files=PATH")
		}
		return c, nil
	}
	c.rule, err = choose(cfg.Val, c.files[Train])
	c.auto = cfg.Val.By == "auto" && c.rule.by == "hash"
	return c, err
}

// FallBack divides the text at its end, as a [Corpus.Scan] of so many documents found that dividing them by hash leaves a side empty. It is
// for what remembers a scan's result; 0 documents change nothing.
func (c *Corpus) FallBack(documents int) {
	if c.auto && documents > 0 {
		c.few, c.rule.by = documents, "end"
		c.rule.cut = locate(c.rule.fraction, c.files[Train])
	}
}

// Few is the number of documents that data.val.by: auto could not divide by hash, so that the text is divided at its end; 0 where it could.
func (c *Corpus) Few() int { return c.few }

// Note tells a person of a division other than the expected one, and is empty otherwise.
func (c *Corpus) Note() string {
	if c.few == 0 {
		return ""
	}
	return fmt.Sprintf("%s cannot be divided by hash at fraction %v: the validation text is the end of the text (data.val.by: end)", counted(c.few, "document"), c.rule.fraction)
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Texts resolves patterns that stand on a command line: all documents are on the side Train. invalid is as data.invalid_utf8.
func Texts(patterns []string, invalid string, stdin io.Reader) (*Corpus, error) {
	r := resolver{stdin: stdin}
	return r.undivided(argument, patterns, invalid)
}

// undivided is a corpus whose every document is on the side Train.
func (r *resolver) undivided(key string, patterns []string, invalid string) (*Corpus, error) {
	if invalid != "fail" && invalid != "replace" {
		return nil, fmt.Errorf("data.invalid_utf8: %q is none of: fail, replace", invalid)
	}
	files, err := r.resolve(key, patterns)
	return &Corpus{files: [2][]File{files, nil}, fail: invalid == "fail"}, err
}

// without returns the files whose identity is not among those of held.
func without(files, held []File) []File {
	ids := map[string]bool{}
	for _, f := range held {
		ids[f.id] = true
	}
	return slices.DeleteFunc(files, func(f File) bool { return ids[f.id] })
}

// choose returns the rule that divides the files.
func choose(val data.Val, files []File) (rule, error) {
	r := rule{by: val.By, fraction: val.Fraction}
	if !(r.fraction > 0 && r.fraction < 1) {
		return r, fmt.Errorf("data.val.fraction: %v is not between 0 and 1: validation needs a part of the text (try 0.1) or files of its own (data.val.files)", r.fraction)
	}
	switch r.by {
	case "auto":
		r.by = "hash"
		if len(files) == 1 {
			r.by = "end"
		}
	case "hash", "end":
	default:
		return r, fmt.Errorf("data.val.by: %q is none of: auto, hash, end", r.by)
	}
	if r.by == "end" {
		r.cut = locate(r.fraction, files)
	}
	return r, nil
}

// locate finds where the last fraction of all bytes starts.
func locate(fraction float64, files []File) place {
	var total int64
	for _, f := range files {
		total += f.Size
	}
	at := total - int64(math.Round(fraction*float64(total)))
	for i, f := range files {
		if at < f.Size {
			return place{file: i, share: float64(at) / float64(f.Size)}
		}
		at -= f.Size
	}
	return place{file: len(files)}
}

// Files returns the files of one side, in order. Where the validation text has no files of its own, those of Train hold both texts.
func (c *Corpus) Files(side Side) []File { return c.files[side] }

// Documents yields the documents of one side. The same files give the same sequence on every machine.
func (c *Corpus) Documents(side Side) Documents {
	return func(yield func(Document, error) bool) {
		for s, d := range c.all() {
			if d.err != nil {
				yield(Document{}, d.err)
				return
			}
			if s == side && !yield(d.Document, nil) {
				return
			}
		}
	}
}

// result is a document or the error in its place.
type result struct {
	Document
	err error
}

// all yields the documents of both sides in the order of the files.
func (c *Corpus) all() iter.Seq2[Side, result] {
	return func(yield func(Side, result) bool) {
		for list := range c.files {
			for i, f := range c.files[list] {
				text, err := f.read(c.fail, c.Stop)
				if err != nil {
					yield(Train, result{err: err})
					return
				}
				offset := 0
				for s, part := range c.divide(Side(list), i, text) {
					if len(part) > 0 && !yield(Side(s), result{Document: Document{Name: f.Name, Offset: offset, Text: part}}) {
						return
					}
					offset += len(part)
				}
			}
		}
	}
}

// divide gives each side its part of file i of a list.
func (c *Corpus) divide(list Side, i int, text []byte) (parts [2][]byte) {
	switch c.rule.by {
	case "hash":
		parts[hashSide(text, c.rule.fraction)] = text
	case "end":
		at := len(text)
		if i == c.rule.cut.file {
			at = cutNear(text, int(math.Round(c.rule.cut.share*float64(len(text)))))
		} else if i > c.rule.cut.file {
			at = 0
		}
		parts[Train], parts[Val] = text[:at:at], text[at:]
	default:
		parts[list] = text
	}
	return parts
}

// hashSide is Val for a share fraction of all texts. It depends on the text alone, so adding, renaming or reordering documents moves no
// other document to the other side, and two copies of one text are never on both.
func hashSide(text []byte, fraction float64) Side {
	sum := sha256.Sum256(text)
	if float64(binary.BigEndian.Uint64(sum[:])>>11)/(1<<53) < fraction {
		return Val
	}
	return Train
}
