package survey

import (
	"unicode"

	"prenorm/data"
	"prenorm/data/corpus"
)

// OddRead counts what a text should hardly have in its files as they are read, copies that are left out included: see [corpus.Odd]. Of token files
// it is not known.
type OddRead struct {
	NUL     Seen `json:"nul"`          // characters of value 0; Rule is data.nul
	Invalid Seen `json:"invalid_utf8"` // runs of bytes that are not UTF-8; Rule is data.invalid_utf8
	Outside Seen `json:"passed_over"`  // members of archives whose names tell no format that is read
}

// Seen is how many there are of something, where the first is, and the setting that says what becomes of it.
type Seen struct {
	Count int64  `json:"count"`
	First string `json:"first,omitempty"`
	Rule  string `json:"rule,omitempty"`
}

// OddKept counts characters of a side that a text should hardly have.
type OddKept struct {
	NUL      int64 `json:"nul"`          // U+0000
	Controls int64 `json:"controls"`     // of category Cc, but NUL, tab, line feed, form feed and carriage return
	Replaced int64 `json:"replacement"`  // U+FFFD, of the files or for bytes that are not UTF-8
	Marks    int64 `json:"order_marks"`  // U+FEFF, which stands at the start of a file and is no part of the text
	Private  int64 `json:"private_use"`  // of category Co
	Invalid  int64 `json:"invalid_utf8"` // bytes that are not UTF-8, which token files alone can have
}

// oddOf is what a corpus has found, by the rules that it was read by.
func oddOf(found corpus.Odd, cfg data.Config) OddRead {
	return OddRead{
		NUL:     Seen{found.NUL.Count, found.NUL.First, cfg.NUL},
		Invalid: Seen{found.Invalid.Count, found.Invalid.First, cfg.Invalid},
		Outside: Seen{found.Outside.Count, found.Outside.First, ""},
	}
}

// join adds what was seen in another source behind it.
func (s *Seen) join(x Seen) {
	if s.Count == 0 {
		s.First = x.First
	}
	if s.Rule == "" {
		s.Rule = x.Rule
	}
	s.Count += x.Count
}

func (o *OddRead) join(x OddRead) {
	o.NUL.join(x.NUL)
	o.Invalid.join(x.Invalid)
	o.Outside.join(x.Outside)
}

func (o *OddKept) join(x OddKept) {
	o.NUL, o.Controls, o.Replaced = o.NUL+x.NUL, o.Controls+x.Controls, o.Replaced+x.Replaced
	o.Marks, o.Private, o.Invalid = o.Marks+x.Marks, o.Private+x.Private, o.Invalid+x.Invalid
}

// ascii counts an ASCII character that has no glyph.
func (o *OddKept) ascii(c byte) {
	switch c {
	case 0:
		o.NUL++
	case '\t', '\n', '\f', '\r':
	default:
		o.Controls++
	}
}

// other counts a character beyond ASCII, of so many bytes, if it is odd. Of one byte it is none.
func (o *OddKept) other(r rune, n int) {
	switch {
	case r == unicode.ReplacementChar && n == 1:
		o.Invalid++
	case r == unicode.ReplacementChar:
		o.Replaced++
	case r == '\uFEFF':
		o.Marks++
	case r <= '\u009F':
		o.Controls++
	case unicode.Is(unicode.Co, r):
		o.Private++
	}
}
