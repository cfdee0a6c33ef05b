package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A line's object is read in place: a map of its keys would take many times its memory where they are short.

// memberOf finds what stands behind the last key of path in an object that is JSON.
func memberOf(where string, object []byte, path []string) ([]byte, error) {
	var found []byte
	times := 0
	members(object, func(key, value []byte) bool {
		if isKey(key, path[len(path)-1]) {
			found = value
			times++
		}
		return true
	})
	switch times {
	case 0:
		return nil, noField(where, path, firstKeys(object))
	case 1:
		return found, nil
	}
	return nil, ambiguous(where, fmt.Sprintf("the key %s stands %d times in its object", strings.Join(path, "."), times))
}

// ambiguous is the error of a field that could be more than one.
func ambiguous(where, what string) error {
	return fmt.Errorf("%s: %s, and there is no telling which is the text: leave one of them or give it another name, or name another field (--set data.field=NAME)", where, what)
}

// firstKeys returns as many keys of an object as a message shows, and one more if there is one.
func firstKeys(object []byte) (keys []string) {
	members(object, func(key, _ []byte) bool {
		keys = append(keys, unquoted(key))
		return len(keys) <= shownFields
	})
	return keys
}

// members hands the members of an object that is JSON to use, keys in quotes, until it returns false.
func members(object []byte, use func(key, value []byte) bool) {
	for at := afterSpace(object, 1); object[at] != '}'; {
		if object[at] == ',' {
			at = afterSpace(object, at+1)
		}
		end := stringEnd(object, at)
		key := object[at:end]
		at = afterSpace(object, afterSpace(object, end)+1) // the colon
		end = valueEnd(object, at)
		if !use(key, object[at:end]) {
			return
		}
		at = afterSpace(object, end)
	}
}

// afterSpace is the first place from at on where no white space is.
func afterSpace(text []byte, at int) int {
	for text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n' {
		at++
	}
	return at
}

// stringEnd is the place behind a string that starts at at.
func stringEnd(text []byte, at int) int {
	for at++; text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// valueEnd is the place behind a value, within an object, that starts at at.
func valueEnd(text []byte, at int) int {
	for depth := 0; ; at++ {
		switch text[at] {
		case '"':
			at = stringEnd(text, at) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // of the object that holds the value
				return at
			}
			depth--
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return at
			}
			continue
		default: // of a number, or a word
			continue
		}
		if depth == 0 {
			return at + 1
		}
	}
}

// isKey says whether a key in quotes is a name. An escape has at most 6 bytes for one of the name.
func isKey(key []byte, name string) bool {
	if !bytes.Contains(key, []byte(`\`)) {
		return string(key[1:len(key)-1]) == name
	}
	return len(key)-2 <= 6*len(name) && unquoted(key) == name
}

// unquoted is the text of a string that is JSON.
func unquoted(text []byte) (s string) {
	json.Unmarshal(text, &s) // which is known to be whole
	return s
}
