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
	c := classes[r]
	if text[i] == ' ' {
		return c&white == 0
	}
	return c&(letter|number) != 0
}

// mayCutInside says whether a text that holds token may be divided inside it. Bytes at its start that are no character may end a letter that begins
// before it.
func mayCutInside(token string) bool {
	start := 0
	for start < len(token) && !utf8.RuneStart(token[start]) {
		start++
	}
	for i := 1; i < len(token); i++ {
		if mayCut([]byte(token), i) || i == start && token[i] == '\n' {
			return true
		}
	}
	return false
}
