package token

import (
	"errors"
	"fmt"
	"strings"
)

// unknownError is about a character that a tokenizer cannot express.
type unknownError struct {
	kind string
	char string // as a person is told of it
	at   int    // byte position in the text
	why  string
}

func (e *unknownError) Error() string {
	return fmt.Sprintf("tokenizer %s: %s at byte %d %s", e.kind, e.char, e.at, e.why)
}

// later moves the position that an unknownError tells, where the text that was encoded comes after so many bytes of another. It says whether err is
// one.
func later(err error, bytes int) bool {
	unknown, is := err.(*unknownError)
	if is {
		unknown.at += bytes
	}
	return is
}

// Advised puts a remedy before those that an error names of a character that a tokenizer cannot express. Other errors stay as they are.
func Advised(err error, remedy string) error {
	var unknown *unknownError
	if !errors.As(err, &unknown) {
		return err
	}
	said := *unknown
	what, others, _ := strings.Cut(said.why, ": ")
	said.why = what + ": " + remedy + "; or " + others
	return &said
}
