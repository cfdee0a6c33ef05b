package token

import "fmt"

// unknownError is about a character that a tokenizer cannot express.
type unknownError struct {
	char rune
	at   int // byte position in the text
	why  string
}

func (e *unknownError) Error() string { return fmt.Sprintf("%#U at byte %d %s", e.char, e.at, e.why) }
