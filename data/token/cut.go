package token

import "unicode/utf8"

// Cut returns the length of the first piece of text: about size bytes, ending where a space follows a character that is not white space,
// or a line break a letter or number, or else all of it. No kind of tokenizer joins characters across such a place, so the ids of the pieces
// are the ids of the whole; a test holds every kind to that, and a file with a token that reaches across is refused.
func Cut(text []byte, size int) int {
	for i := max(size, 1); i < len(text); i++ {
		if mayCut(text, i) {
			return i
		}
	}
	return len(text)
}

// mayCut says whether a piece of text may end at byte i, which is neither 0 nor the end.
func mayCut(text []byte, i int) bool {
	if text[i] != ' ' && text[i] != '\n' {
		return false
	}
	r, _ := utf8.DecodeLastRune(text[:i])
	c := classes()[r]
	if text[i] == ' ' {
		return c&white == 0
	}
	return c&(letter|number) != 0
}
