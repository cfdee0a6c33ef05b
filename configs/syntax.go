package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"
)

// largest bounds a run file; a real one has a few kilobytes.
const largest = 1 << 20

// A syntaxError is a text that is no YAML document.
type syntaxError struct {
	line int // 0 where it is not known
	what string
}

// parseYAML returns the root of the one document in src, or nil for an empty file.
func parseYAML(src []byte) (root *yaml.Node, bad *syntaxError) {
	if len(src) > largest {
		return nil, &syntaxError{0, fmt.Sprintf("is larger than %d bytes and so no run file", largest)}
	}
	if bad := foreignByte(src); bad != nil {
		return nil, bad
	}
	// The parser is a port that reports its own mistakes by panicking.
	defer func() {
		if r := recover(); r != nil {
			root, bad = nil, &syntaxError{0, fmt.Sprintf("is not valid YAML: %v", r)}
		}
	}()
	d := yaml.NewDecoder(bytes.NewReader(src))
	var document, second yaml.Node
	if err := d.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, explain(err, src)
	}
	if err := d.Decode(&second); err == nil {
		return nil, &syntaxError{second.Line, "a second document starts here (a run file is one document, without ---)"}
	} else if !errors.Is(err, io.EOF) {
		return nil, explain(err, src)
	}
	return document.Content[0], nil
}

// foreignByte finds what YAML forbids anywhere: bytes that are not UTF-8, and control characters.
func foreignByte(src []byte) *syntaxError {
	line := 1
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		switch {
		case r == utf8.RuneError && size <= 1:
			return &syntaxError{line, fmt.Sprintf("byte 0x%02x is not UTF-8 (save the file as UTF-8)", src[i])}
		case r == '\n':
			line++
		case r < ' ' && r != '\t' && r != '\r', r == 0x7f:
			return &syntaxError{line, fmt.Sprintf("control character 0x%02x is not allowed (remove it)", r)}
		}
		i += size
	}
	return nil
}

var (
	errorLine   = regexp.MustCompile(`^line (\d+): `)
	lostAnchor  = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	parserError = regexp.MustCompile(`^did not find expected (<.*>|node content|key|'-' indicator|',' or '[\]}]')$|^found (undefined tag|incompatible YAML|duplicate %)`)
)

// remedies says what to do about the parser's commoner messages.
var remedies = []struct{ part, remedy string }{
	{"tab character", "indent with spaces"},
	{"cannot start any token", "quote text that starts with @, %, ` or a tab; indent with spaces"},
	{"mapping values are not allowed", "quote text with a colon in it; start the keys of a section in the same column"},
	{"could not find expected ':'", "every key needs a colon and a space after it"},
	{"did not find expected key", "start the keys of a section in the same column"},
	{"',' or ']'", "close the list with ]"},
	{"',' or '}'", "close the section with }"},
	{"unexpected end of stream", "close the quotes"},
	{"unknown anchor", "quote text that starts with *"},
	{"max depth", "a run file nests three deep"},
}

// explain turns an error of the library into a line and a message with a remedy.
func explain(err error, src []byte) *syntaxError {
	what := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if m := errorLine.FindStringSubmatch(what); m != nil {
		what = what[len(m[0]):]
		line, _ = strconv.Atoi(m[1])
		// The library counts lines from 0 in the grammar's errors and from 1 in the scanner's.
		if parserError.MatchString(what) {
			line++
		}
	} else if m := lostAnchor.FindStringSubmatch(what); m != nil {
		if before, _, found := bytes.Cut(src, []byte("*"+m[1])); found {
			line = 1 + bytes.Count(before, []byte("\n"))
		}
	} else if !strings.Contains(what, "max depth") {
		line = 1 // the library leaves out the number of the first line
	}
	what = "not valid YAML: " + printable(what)
	for _, r := range remedies {
		if strings.Contains(what, r.part) {
			what += " (" + r.remedy + ")"
			break
		}
	}
	return &syntaxError{line, what}
}
