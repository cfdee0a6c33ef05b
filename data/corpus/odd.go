package corpus

import "fmt"

// Odd counts what a text should hardly have, in all of its files as they are read for [Corpus.Scan], copies that are left out included.
type Odd struct {
	NUL     Seen // characters of value 0, whatever data.nul does with them
	Invalid Seen // runs of bytes that are not UTF-8, and halves of surrogate pairs
	Outside Seen // members of archives whose names tell no format that is read
	Special Seen // members of archives that are links, sparse files and the like, though their names tell a format
}

// Seen is how many there are of something, and where the first is.
type Seen struct {
	Count int64
	First string
}

// add counts n more, the first of which is at byte at of what a cleaner has before it.
func (s *Seen) add(n int, c *cleaner, raw []byte, at int) {
	if s.Count == 0 {
		s.First = c.where(raw, at)
	}
	s.Count += int64(n)
}

// oddNotes tell of what is odd in the text, and of what the policy makes of it.
func (c *Corpus) oddNotes() (notes []string) {
	odd := c.found.Odd
	if seen := odd.NUL; seen.Count > 0 {
		is := "in the text: files in UTF-16 without a byte order mark, and files that are no text, have such; convert the files or leave them out, or --set data.nul=drop leaves the characters out"
		if c.reading.nul == "drop" {
			is = "left out (data.nul: drop)"
		}
		notes = append(notes, seen.note("NUL character", is))
	}
	if seen := odd.Invalid; seen.Count > 0 {
		is := "read as U+FFFD (data.invalid_utf8: replace)"
		if c.reading.invalid == "drop" {
			is = "left out (data.invalid_utf8: drop)"
		}
		notes = append(notes, seen.note("run of bytes that are not UTF-8", is))
	}
	if seen := odd.Outside; seen.Count > 0 {
		notes = append(notes, seen.note("archive member of another name", "passed over: unpack the archive, and a glob reads those that hold text"))
	}
	if seen := odd.Special; seen.Count > 0 {
		notes = append(notes, seen.note("archive member of another type", "passed over, as links and sparse files are: unpack the archive and name its folder"))
	}
	return notes
}

// note is a sentence: 3 things (the first at a.txt:1) are so.
func (s Seen) note(noun, is string) string {
	if s.Count == 1 {
		return fmt.Sprintf("1 %s (at %s) is %s", noun, s.First, is)
	}
	return fmt.Sprintf("%s (the first at %s) are %s", severalOf(s.Count, noun), s.First, is)
}
