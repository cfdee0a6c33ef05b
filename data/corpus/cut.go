package corpus

import (
	"bytes"
	"unicode/utf8"
)

// lineReach is how far, in bytes, a cut moves to fall at the start of a line; cutReach is all that is looked at on either side of it.
const (
	lineReach = 1024
	cutReach  = lineReach + 1 + utf8.UTFMax
)

// cutNear returns the place nearest to at where text may be cut: the start of a line, if there is one within lineReach and within half
// of the smaller part (so that a short text keeps about the share that was asked for), else the start of a character.
func cutNear(text []byte, at int) int { return cutWithin(text, at, at, len(text)-at) }

// cutWithin is cutNear for a window of a text. before and after are the bytes of the whole text on both sides of at; the window has the
// last and first cutReach of them.
func cutWithin(text []byte, at, before, after int) int {
	reach := min(lineReach, before/2, after/2)
	// A line starts after a newline, so the newline before a start within reach may be one byte further away.
	from := max(at-reach-1, 0)
	back, forth := reach+1, reach+1
	if i := bytes.LastIndexByte(text[from:at], '\n'); i >= 0 {
		back = at - (from + i + 1)
	}
	if i := bytes.IndexByte(text[at:at+reach], '\n'); i >= 0 {
		forth = i + 1
	}
	switch {
	case back <= min(forth, reach):
		return at - back
	case forth <= reach:
		return at + forth
	}
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
