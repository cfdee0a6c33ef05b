package token

import "fmt"

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
