// Package corpus turns the file patterns of a run into two deterministic sequences of documents, one to train on and one to validate on.
// It knows no token ids.
package corpus

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"prenorm/data"
)

// Document is one text: valid UTF-8 without a byte order mark, line ends as in the file unless they are to be folded. A document of more
// than 4 MiB comes in stretches, each a Document, one after another and cut between characters; all others come whole, with Continues false
// and Rest 0. No document is empty.
type Document struct {
	Name      string // where it is: "a.txt", "<stdin>", "a.jsonl:7" (line), "a.parquet row 7", "a.tar:b.txt" (member)
	Offset    int64  // where Text starts in the document, in bytes; not 0 for later stretches, and for the second part of a divided document
	Text      []byte
	Continues bool  // Text goes on where that of the Document before ended
	Rest      int64 // bytes of the same document that are still to come
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

// Corpus is the resolved text of a run. Files are read anew by every pass, a stretch at a time: memory does not grow with the corpus. A
// corpus is for one goroutine.
type Corpus struct {
	owner
	files    [2][]File // Val's are empty unless the validation text has files of its own
	rule     rule      // how files[Train] is divided otherwise
	auto     bool      // rule is hash unless that leaves a side empty
	copies   string    // data.duplicates: keep, drop_exact or drop_near
	dropped  *dropped  // nil until the copies are known
	found    Found     // by reading, here or before
	few      int       // documents that could not be divided by hash; 0 = the rule is as chosen
	reading  reading
	odd      *Odd                 // counts while a scan reads, else nil
	counts   bool                 // what is odd is counted by [Corpus.Documents], as nobody scans
	alike    *alike               // compares while a scan reads, else nil
	measures map[[2]int]*measures // by list and file
	spool    *spool               // of standard input, where that is long
	notes    []string             // of its files
	again    func(size int64)     // told of bytes that have to be read once more than planned; may be nil

	// Stop, where it is not nil, is asked again and again while text is read; an error that it returns ends the reading.
	Stop func() error
}

// Open resolves the patterns of cfg and looks at the files' sizes; it reads no text but standard input, which is stdin. What has to be kept
// on disk while it is read (standard input, Parquet files that are packed) is kept in dir, "" = the system's folder for such files. The
// caller closes the corpus.
func Open(cfg data.Config, stdin io.Reader, dir string) (*Corpus, error) {
	return OpenSource("", cfg, stdin, dir)
}

// OpenSource is [Open] for one of data.sources, of which cfg is the configuration by itself.
func OpenSource(name string, cfg data.Config, stdin io.Reader, dir string) (*Corpus, error) {
	r := resolver{owner: owner(name), stdin: stdin, dir: dir, format: cfg.Format}
	c, err := r.undivided(r.train(), cfg.Train, cfg)
	if err == nil {
		c.copies = cfg.Duplicates
		err = c.divide(&r, cfg.Val)
	}
	return r.finish(c, err)
}

// finish gives the corpus what it has to close, or closes that where there is none.
func (r *resolver) finish(c *Corpus, err error) (*Corpus, error) {
	if err == nil {
		c.spool, c.notes = r.spool, r.notes
		return c, nil
	}
	if r.spool != nil {
		err = errors.Join(err, r.spool.Close())
	}
	return nil, err
}

// divide sets how the text is divided.
func (c *Corpus) divide(r *resolver, val data.Val) (err error) {
	if len(val.Files) == 0 {
		c.rule, err = r.choose(val, c.files[Train])
		c.auto = val.By == "auto" && c.rule.by == "hash"
		return err
	}
	if c.files[Val], err = r.resolve(r.val(), val.Files); err != nil {
		return err
	}
	c.files[Train] = without(c.files[Train], c.files[Val])
	if len(c.files[Train]) == 0 {
		return fmt.Errorf("%s: every file is named by %s too, so none is left to train on: name other files %s", r.train(), r.val(), r.remedy(r.val()))
	}
	return nil
}

// Close removes what was kept on disk while the corpus was read.
func (c *Corpus) Close() error {
	if c.spool == nil {
		return nil
	}
	return c.spool.Close()
}

// FallBack divides the text at its end, as a [Corpus.Scan] of so many documents found that dividing them by hash leaves a side empty. It is
// for what remembers a scan's result; 0 documents change nothing.
func (c *Corpus) FallBack(documents int) {
	if c.auto && documents > 0 {
		c.measures = nil
		c.few, c.rule.by = documents, "end"
		c.rule.cut = locate(c.rule.fraction, c.files[Train])
	}
}

// Few is the number of documents that data.val.by: auto could not divide by hash, so that the text is divided at its end; 0 where it could.
func (c *Corpus) Few() int { return c.few }

// Texts resolves patterns that stand on a command line: all documents are on the side Train. Of cfg only how files are read is looked at.
// dir is that of [Open]. Nobody scans them: what is odd in them is known, and told by [Corpus.Note], once [Corpus.Documents] came to the end.
func Texts(patterns []string, cfg data.Config, stdin io.Reader, dir string) (*Corpus, error) {
	r := resolver{stdin: stdin, dir: dir, format: cfg.Format}
	c, err := r.undivided(argument, patterns, cfg)
	if err == nil {
		c.counts = true
	}
	return r.finish(c, err)
}

// undivided is a corpus whose every document is on the side Train.
func (r *resolver) undivided(key string, patterns []string, cfg data.Config) (*Corpus, error) {
	if err := cfg.ReadingProblems().Under("data").Err(); err != nil {
		return nil, err
	}
	files, err := r.resolve(key, patterns)
	if err != nil {
		return nil, err
	}
	return &Corpus{owner: r.owner, files: [2][]File{files, nil}, reading: reading{policy: policyOf(cfg), field: fieldPath(cfg), dir: r.dir}}, nil
}

// without returns the files whose identity is not among those of held.
func without(files, held []File) []File {
	ids := map[string]bool{}
	for _, f := range held {
		ids[f.id] = true
	}
	return slices.DeleteFunc(files, func(f File) bool { return ids[f.id] })
}

// Files returns the files of one side, in order. Where the validation text has no files of its own, those of Train hold both texts.
func (c *Corpus) Files(side Side) []File { return c.files[side] }

// Documents yields the documents of one side. The same files give the same sequence on every machine.
func (c *Corpus) Documents(side Side) Documents {
	return func(yield func(Document, error) bool) {
		stopped := false
		if c.counts {
			c.odd = &Odd{}
			defer func() { c.odd = nil }()
		}
		err := c.all(only(side), func(_ Side, d Document) error {
			if !yield(d, nil) {
				stopped = true
				return errEnough
			}
			return nil
		})
		switch {
		case err != nil && !stopped:
			yield(Document{}, err)
		case err == nil && c.counts:
			c.found.Odd = *c.odd
		}
	}
}

// only is the set of one side.
func only(side Side) (set [2]bool) {
	set[side] = true
	return set
}

// all hands on the documents of the sides that are wanted, in the order of the files.
func (c *Corpus) all(wanted [2]bool, emit func(Side, Document) error) error {
	if err := c.findCopies(); err != nil {
		return err
	}
	for list := range c.files {
		for i := range c.files[list] {
			if mayHold := c.mayHold(Side(list), i); !(wanted[Train] && mayHold[Train] || wanted[Val] && mayHold[Val]) {
				continue
			}
			if err := c.divided(list, i, wanted, emit); err != nil {
				return err
			}
		}
	}
	return nil
}

// pass reads file i of a list.
func (c *Corpus) pass(list, i int, emit func(chunk) error) error {
	return c.counting(list, i, nil, emit)
}

// counting is pass with a count of what is odd, nil for none.
func (c *Corpus) counting(list, i int, odd *Odd, emit func(chunk) error) error {
	r := c.reading
	r.odd = odd
	if r.stop = c.Stop; r.stop == nil {
		r.stop = func() error { return nil }
	}
	if r.count == nil {
		r.count = func(int) {}
	}
	return r.file(c.files[list][i], emit)
}
