package metrics

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// Visible replaces what a terminal would obey or could not show: control characters other than line breaks and tabs, and bytes that are no
// UTF-8. A model of bytes may write anything. Carriage returns are dropped: a text with the line ends of Windows is full of them.
func Visible(text []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r == '\r' {
			return -1
		}
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return utf8.RuneError
		}
		return r
	}, text)
}
