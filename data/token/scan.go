package token

import (
	"unicode"
	"unicode/utf8"
)

// class is what the pre-tokenisation patterns tell characters apart by: one bit for each character, so that a set of classes is a mask.
type class uint8

const (
	upper    class = 1 << iota // \p{Lu} \p{Lt}
	lower                      // \p{Ll}
	caseless                   // \p{Lm} \p{Lo}
	mark                       // \p{M}
	number                     // \p{N}
	space                      // \s, that is Unicode White_Space, but for line
	line                       // \r \n
	other                      // the rest; an invalid byte is one of these

	letter = upper | lower | caseless // \p{L}
	white  = space | line             // \s
)

// classes holds the class of every character, 0 for other. It is made at the program's start, in less than a millisecond.
var classes = func() []class {
	table := make([]class, unicode.MaxRune+1)
	for _, row := range []struct {
		class  class
		ranges []*unicode.RangeTable
	}{
		{upper, []*unicode.RangeTable{unicode.Lu, unicode.Lt}}, {lower, []*unicode.RangeTable{unicode.Ll}},
		{caseless, []*unicode.RangeTable{unicode.Lm, unicode.Lo}}, {mark, []*unicode.RangeTable{unicode.M}},
		{number, []*unicode.RangeTable{unicode.N}}, {space, []*unicode.RangeTable{unicode.White_Space}},
	} {
		for _, ranges := range row.ranges {
			for _, r := range ranges.R16 {
				for c := int(r.Lo); c <= int(r.Hi); c += int(r.Stride) {
					table[c] = row.class
				}
			}
			for _, r := range ranges.R32 {
				for c := int(r.Lo); c <= int(r.Hi); c += int(r.Stride) {
					table[c] = row.class
				}
			}
		}
	}
	table['\r'], table['\n'] = line, line
	return table
}()

var asciiClass = func() (table [256]class) {
	copy(table[:utf8.RuneSelf], classes[:utf8.RuneSelf])
	for i, c := range table[:utf8.RuneSelf] {
		if c == 0 {
			table[i] = other
		}
	}
	return table
}()

// classify returns the class and the length in bytes of the first character of text, which is not empty.
func classify(text []byte) (class, int) {
	if c := asciiClass[text[0]]; c != 0 {
		return c, 1
	}
	r, n := utf8.DecodeRune(text) // an invalid byte reads as U+FFFD, of class other
	if c := classes[r]; c != 0 {
		return c, n
	}
	return other, n
}

// run returns where the longest run of characters of the classes in set ends that begins at text[at:].
func run(text []byte, at int, set class) int {
	for at < len(text) {
		c := asciiClass[text[at]]
		n := 1
		if c == 0 {
			c, n = classify(text[at:])
		}
		if c&set == 0 {
			break
		}
		at += n
	}
	return at
}

// A splitter returns the length in bytes of the first pre-token of text, which is not empty. Byte pairs merge inside a pre-token only.
//
// Classes are those of the Unicode version of package unicode; a character newer than that is of class other.
type splitter func(text []byte) int

// splitGPT2 is the first match of GPT-2's pattern (Radford et al. 2019, file encoder.py), alternatives tried from left to right:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func splitGPT2(text []byte) int {
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
	switch {
	case c&white != 0:
		return spaces(text, run(text, 0, white))
	case c&letter != 0:
		return run(text, start+n, letter)
	case c == number:
		return run(text, start+n, number)
	}
	return run(text, start+n, other|mark)
}

// contraction matches 's|'t|'re|'ve|'m|'ll|'d; text begins with an apostrophe. 0 means no match.
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

// spaces matches \s+(?!\S)|\s+ on text whose run of white space ends at end. A run that something follows gives up its last
// character, which then starts the next pre-token, unless it has no other.
func spaces(text []byte, end int) int {
	if end < len(text) {
		if _, n := utf8.DecodeLastRune(text[:end]); end > n {
			return end - n
		}
	}
	return end
}
