package token

import (
	"unicode"
	"unicode/utf8"
)

// class is what the pre-tokenisation pattern tells characters apart by.
type class uint8

const (
	other  class = iota // [^\s\p{L}\p{N}]; an invalid byte is one of these
	letter              // \p{L}
	number              // \p{N}
	space               // \s: Unicode White_Space
)

var asciiClass = func() (table [utf8.RuneSelf]class) {
	for i := range table {
		table[i] = classOf(rune(i))
	}
	return table
}()

func classOf(r rune) class {
	switch {
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	case unicode.IsSpace(r):
		return space
	}
	return other
}

// classify returns the class and the length in bytes of the first character of text, which is not empty.
func classify(text []byte) (class, int) {
	if b := text[0]; b < utf8.RuneSelf {
		return asciiClass[b], 1
	}
	r, n := utf8.DecodeRune(text) // an invalid byte reads as U+FFFD, of class other
	return classOf(r), n
}

// pretoken returns the length in bytes of the first pre-token of text, which is not empty. Byte pairs merge inside a pre-token only.
// It is the first match of GPT-2's pattern (Radford et al. 2019, file encoder.py), alternatives tried from left to right:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// Classes are those of the Unicode version of package unicode; a character newer than that is of class other.
func pretoken(text []byte) int {
	if text[0] == '\'' {
		if n := contraction(text); n > 0 {
			return n
		}
	}
	start := 0
	if text[0] == ' ' && len(text) > 1 {
		start = 1
	}
	c, n := classify(text[start:])
	if c == space {
		return spaces(text)
	}
	end := start + n
	for end < len(text) {
		next, n := classify(text[end:])
		if next != c {
			break
		}
		end += n
	}
	return end
}

// contraction matches the first seven alternatives; text begins with an apostrophe. 0 means no match.
func contraction(text []byte) int {
	if len(text) >= 2 {
		switch text[1] {
		case 's', 't', 'm', 'd':
			return 2
		}
	}
	if len(text) >= 3 {
		switch string(text[1:3]) {
		case "re", "ve", "ll":
			return 3
		}
	}
	return 0
}

// spaces matches the last two alternatives. A run of white space that something follows gives up its last character, which then
// starts the next pre-token, unless it has no other.
func spaces(text []byte) int {
	last, end := 0, 0
	for end < len(text) {
		c, n := classify(text[end:])
		if c != space {
			break
		}
		last, end = end, end+n
	}
	if end < len(text) && last > 0 {
		return last
	}
	return end
}
