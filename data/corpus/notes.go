package corpus

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Found is what is known of a corpus once it was read.
type Found struct {
	Left       Left
	Odd        Odd
	Same       bool // there are several documents, and all have the same bytes
	Held       Held
	Train, Val Summary
}

// Found is what a [Corpus.Scan] found, or what was remembered.
func (c *Corpus) Found() Found { return c.found }

// Remember is for what remembers [Corpus.Found], so that [Corpus.Note] can tell of it.
func (c *Corpus) Remember(found Found) { c.found = found }

// Note tells a person of texts that are read in another way than may be expected, and, as far as that is known yet, of documents that are left
// out and of a division other than the expected one.
func (c *Corpus) Note() string {
	notes := append(slices.Clone(c.notes), c.oddNotes()...)
	if c.found.Left.Copies > 0 {
		notes = append(notes, c.leftOut())
	}
	if c.few > 0 {
		notes = append(notes, c.endNote())
	}
	if note := c.shareNote(); note != "" {
		notes = append(notes, note)
	}
	if note := c.repeatedNote(); note != "" {
		notes = append(notes, note)
	}
	return strings.Join(notes, "\n")
}

// leftOut says how many documents are left out as copies.
func (c *Corpus) leftOut() string {
	left := c.found.Left
	return fmt.Sprintf("%s of %d left out as copies of earlier ones (data.duplicates: %s)", counted(left.Copies, "document"), left.Of, c.copies)
}

func (c *Corpus) endNote() string {
	return fmt.Sprintf("%s cannot be divided by hash at fraction %v: the validation text is the end of the text (data.val.by: end)", counted(c.few, "document"), c.rule.fraction)
}

// shareNote tells of a validation text whose share is off data.val.fraction by more than half of the smaller part.
func (c *Corpus) shareNote() string {
	train, val, fraction := c.found.Train, c.found.Val, c.rule.fraction
	all := float64(train.Bytes + val.Bytes)
	if off := math.Abs(float64(val.Bytes) - fraction*all); c.rule.by == "" || off <= all*min(fraction, 1-fraction)/2+utf8.UTFMax {
		return ""
	}
	why := "whole documents are divided by their hash (data.val.by: hash), and few or very unequal ones come out like that; --set data.val.by=end cuts closer to it"
	if c.rule.by == "end" {
		why = "the end is found by the sizes of the files on disk (data.val.by: end), and they are packed unequally or hold more than text"
	}
	return fmt.Sprintf("the validation text is %.1f%% of the text (%d of %d bytes, %d of %d documents), not the %.4g%% of data.val.fraction: %s; files of its own (%s) say what it is",
		100*float64(val.Bytes)/all, val.Bytes, train.Bytes+val.Bytes, val.Documents, train.Documents+val.Documents, 100*fraction, why, ValFiles(string(c.owner)))
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return severalOf(int64(n), noun)
}

// severalOf is a number above 1 with its noun, whose first word gets the plural: "2 runs of bytes".
func severalOf(n int64, noun string) string {
	first, rest, more := strings.Cut(noun, " of ")
	if more {
		rest = " of " + rest
	}
	return fmt.Sprintf("%d %ss%s", n, first, rest)
}
