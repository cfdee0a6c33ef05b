package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Problem is one thing that is wrong with a run, at the place where it was written.
type Problem struct {
	File string // the run file
	Line int    // in File, from 1; 0 where the file does not give the key: a default, or --set
	Set  string // the argument of --set that gave the value, "" where none did
	Key  string // dotted; "" where the whole file is meant
	What string // the value, the rule and the remedy
}

// String writes the problem as "file:line: key: what", "--set key=value: what" or, for a default, "file: key: what".
func (p Problem) String() string {
	var b strings.Builder
	key := p.Key
	switch {
	case p.Set != "":
		name, _, _ := strings.Cut(p.Set, "=")
		if strings.TrimSpace(name) == key {
			key = ""
		}
		b.WriteString("--set " + printable(p.Set) + ": ")
	case p.Line > 0:
		fmt.Fprintf(&b, "%s:%d: ", p.File, p.Line)
	default:
		b.WriteString(p.File + ": ")
	}
	if key != "" {
		b.WriteString(printable(key) + ": ")
	}
	b.WriteString(p.What)
	return b.String()
}

// Error is everything that is wrong with a run: the file's problems by line, then those of defaults, then those of --set.
type Error struct {
	Problems []Problem
}

// Error writes one problem a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// asError returns nil for no problems.
func asError(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	group := func(p Problem) int {
		switch {
		case p.Set != "":
			return 2
		case p.Line > 0:
			return 0
		}
		return 1
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(group(a), group(b)), cmp.Compare(a.Line, b.Line))
	})
	return &Error{problems}
}

// printable keeps a word of the user's on one line and short.
func printable(word string) string {
	const longest = 100
	if !utf8.ValidString(word) {
		return strconv.Quote(word[:min(len(word), longest)])
	}
	if runes := []rune(word); len(runes) > longest {
		word = string(runes[:longest]) + "…"
	}
	for _, r := range word {
		if !unicode.IsPrint(r) {
			return strconv.Quote(word)
		}
	}
	return word
}
