package token

import (
	"unicode"
	"unicode/utf8"
)

// Places are the places where a text may be divided so that the ids of the parts are the ids of the whole: a set of rules, one a bit. Which of
// them a tokenizer keeps to is its own, see [PlacesOf].
//
// A rule is sound for a pattern if, wherever it finds a place,
//
//	(a) a pre-token ends there, whatever comes before and behind, and
//	(b) what looks ahead in the pattern (\s+(?!\S), \s++$, a run that goes on) sees the same at the end of a text as in front of the place.
//
// The pre-tokens in front are then the same by (b), and those behind by (a), as no pattern looks back. For each rule below, L is the character
// in front of the place and R the one behind. All patterns have in common that
//
//   - letters, \p{L}+ or o200k's cased words, take in only letters, marks and the contraction behind o200k's words, so a pre-token that a
//     letter ends is over in front of any R that is no letter, mark or apostrophe, and looks no further;
//   - numbers, \p{N}+ or \p{N}{1,3}, take in only numbers, and count from where the numbers begin;
//   - the rest, [^\s\p{L}\p{N}]+, takes in no white space but for [\r\n]* or [\r\n/]* at its end;
//   - one character may come before: a space before anything (gpt2), a space before the rest, and any character that is no line break, letter
//     or number before letters (the others). So R may begin a pre-token with what follows, but where it does, it begins one.
type Places uint8

const (
	// A space behind what is not white. Nothing that is not white takes in a space behind it.
	atSpace Places = 1 << iota
	// \n behind a letter or number, which take in no line break. Behind the rest it would be taken in.
	atBreak
	// \r, as \n.
	atReturn
	// Any other white space, as the space: a tab, U+3000.
	atWhite
	// Behind a \n that something not white comes before, in front of something not white but a slash. The \n is all of its run of white space, so
	// that gpt2's \s+(?!\S) has nothing to give up, \s*[\r\n]+ and \s++$ take in the same, and [\r\n/]* ends with it, which a slash would go on
	// with. No R has a line break for its first character.
	behindBreak
	// A full stop, comma, bracket or the like that is not of ASCII (\p{Po}\p{Ps}\p{Pe}: 。、，！？「」), behind a letter or number: the first two points
	// above. Special tokens, such as <|end|>, often have what ASCII has of these.
	atStop
	// Between a letter and a number: both take in only their own.
	atNumber
	// Between any two characters.
	anywhere

	// everyPlace is for kinds that encode every character by itself.
	everyPlace Places = 1<<8 - 1
	// patternPlaces are sound for every pattern: what a vocabulary is trained on is divided there.
	patternPlaces = everyPlace &^ anywhere
	// anyKinds are what every tokenizer keeps to: one with a token that reaches across such a place is refused.
	anyKinds = atSpace | atBreak
)

// Cut returns the length of the first piece of text: about size bytes, ending at one of the places, or else all of it. What it returns for a
// part of a text that ends behind the piece is what it returns for the whole.
func (p Places) Cut(text []byte, size int) int {
	for i := max(size, 1); i < len(text); i++ {
		if p&placesAt(text, i) != 0 {
			return i
		}
	}
	return len(text)
}

// PlacesOf returns where the tokenizer's texts may be divided.
func PlacesOf(t Tokenizer) Places {
	if own, ok := t.(interface{ places() Places }); ok {
		return own.places()
	}
	return anyKinds
}

// PlacesToTrain returns where texts may be divided that a kind of tokenizer is trained on.
func PlacesToTrain(kind string) Places {
	if kind == kindByte || kind == kindChar {
		return everyPlace
	}
	return patternPlaces
}

// placesAt returns the rules by which a text may be divided at byte i, which is neither 0 nor the end. An incomplete character at the end of
// text is no place, as what follows decides.
func placesAt(text []byte, i int) Places {
	if !utf8.RuneStart(text[i]) || !utf8.FullRune(text[i:]) {
		return 0
	}
	right, _ := classify(text[i:])
	left := classBehind(text[:i])
	rule := Places(0)
	switch {
	case text[i] == ' ' && left&white == 0:
		rule = atSpace
	case right == space && left&white == 0:
		rule = atWhite
	case text[i] == '\n' && left&(letter|number) != 0:
		rule = atBreak
	case right == line && left&(letter|number) != 0:
		rule = atReturn
	case right&white != 0:
	case text[i-1] == '\n':
		if i > 1 && classBehind(text[:i-1])&white == 0 && text[i] != '/' {
			rule = behindBreak
		}
	case right == number && left&letter != 0 || right&letter != 0 && left == number:
		rule = atNumber
	case right == other && left&(letter|number) != 0 && isStop(text[i:]):
		rule = atStop
	}
	return rule | anywhere
}

// isStop says whether text begins with a character of \p{Po}\p{Ps}\p{Pe} that is not of ASCII.
func isStop(text []byte) bool {
	r, _ := utf8.DecodeRune(text)
	return r >= utf8.RuneSelf && unicode.In(r, unicode.Po, unicode.Ps, unicode.Pe)
}

// classBehind returns the class of the last character of text, which is not empty.
func classBehind(text []byte) class {
	if c := asciiClass[text[len(text)-1]]; c != 0 {
		return c
	}
	r, _ := utf8.DecodeLastRune(text)
	if c := classes[r]; c != 0 {
		return c
	}
	return other
}

// placesInside returns the rules by which a text that holds token may be divided inside it.
func placesInside(token string) Places {
	text, inside := []byte(token), Places(0)
	if !utf8.ValidString(token) { // the text around it may complete characters
		inside = everyPlace &^ anyKinds
	}
	start := 0 // bytes at its start that are no character may end a letter that begins before it
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	for i := 1; i < len(text); i++ {
		inside |= placesAt(text, i)
		switch {
		case i == start && text[i] == '\n':
			inside |= atBreak
		case i == 1 && text[0] == '\n': // behind what comes before the token
			inside |= placesAt(append([]byte("x"), text...), 2)
		}
	}
	return inside
}
