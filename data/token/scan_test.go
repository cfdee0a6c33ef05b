package token

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

const pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// directPretoken reads the pattern word for word: each alternative in its order, each repetition as long as it can be and then
// shorter by one character at a time.
func directPretoken(text string) string {
	for _, literal := range []string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"} {
		if strings.HasPrefix(text, literal) {
			return literal
		}
	}
	isOther := func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.Is(unicode.L, r) && !unicode.Is(unicode.N, r)
	}
	for _, in := range []func(rune) bool{
		func(r rune) bool { return unicode.Is(unicode.L, r) }, func(r rune) bool { return unicode.Is(unicode.N, r) }, isOther,
	} {
		for _, optional := range []string{" ", ""} {
			if !strings.HasPrefix(text, optional) {
				continue
			}
			if run := leading(text[len(optional):], in); run != "" {
				return optional + run
			}
		}
	}
	run := leading(text, unicode.IsSpace)
	for try := run; try != ""; {
		next, n := utf8.DecodeRuneInString(text[len(try):])
		if n == 0 || unicode.IsSpace(next) {
			return try
		}
		_, last := utf8.DecodeLastRuneInString(try)
		try = try[:len(try)-last]
	}
	return run
}

func leading(text string, in func(rune) bool) string {
	if end := strings.IndexFunc(text, func(r rune) bool { return !in(r) }); end >= 0 {
		return text[:end]
	}
	return text
}

func split(text string, first func(string) string) []string {
	var parts []string
	for text != "" {
		part := first(text)
		parts = append(parts, part)
		text = text[len(part):]
	}
	return parts
}

func scanned(text string) string { return text[:splitGPT2([]byte(text))] }

// TestPretokenExhaustively compares the scanner with the direct reading on every text of up to five of these characters. Only the
// first pre-token needs to be looked at: what is left is a shorter text of the same characters.
func TestPretokenExhaustively(t *testing.T) {
	characters := []string{"'", "s", "r", "e", "l", "é", "1", "½", "!", " ", "\n", "\u00a0", "\xff"}
	var extend func(text string, more int)
	extend = func(text string, more int) {
		if text != "" {
			if got, want := scanned(text), directPretoken(text); got != want {
				t.Fatalf("first pre-token of %q is %q, want %q", text, got, want)
			}
		}
		if more == 0 {
			return
		}
		for _, c := range characters {
			extend(text+c, more-1)
		}
	}
	extend("", 5)
}

// TestPretokenClassesOfAllCharacters puts each character of Unicode where its class decides the split.
func TestPretokenClassesOfAllCharacters(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		for _, text := range []string{string(r) + "a", " " + string(r) + "1", "!" + string(r)} {
			if got, want := scanned(text), directPretoken(text); got != want {
				t.Fatalf("%U: first pre-token of %q is %q, want %q", r, text, got, want)
			}
		}
	}
}

// TestPretokenAgainstRegexp runs the pattern itself in an engine that has lookahead.
func TestPretokenAgainstRegexp(t *testing.T) {
	engine := regexp2.MustCompile(pattern, regexp2.None)
	r := rand.New(rand.NewPCG(7, 8))
	for range 1500 {
		text := strings.ToValidUTF8(randomText(r, true), "?")
		got := split(text, scanned)
		match, err := engine.FindStringMatch(text)
		for i := 0; match != nil || i < len(got); i++ {
			if err != nil || match == nil || i >= len(got) || match.String() != got[i] {
				t.Fatalf("pre-token %d of %q: scanner %q, pattern %v (%v)", i, text, got, match, err)
			}
			match, err = engine.FindNextMatch(match)
		}
	}
}

func TestPretokenByHand(t *testing.T) {
	for text, want := range map[string]string{
		"I'll don't":       "I|'ll| don|'t",
		"'S 's":            "'|S| '|s",
		"a  b":             "a| | b",
		"a \n\n b":         "a| \n\n| b",
		"a\n\nb":           "a|\n|\n|b",
		"end  ":            "end|  ",
		"x=1234 ,half½":    "x|=|1234| ,|half|½",
		"\u3000\u3000東京 ⅷ": "\u3000|\u3000|東京| ⅷ",
		"!'s":              "!'|s",
		"a\xff\xfe!b":      "a|\xff\xfe!|b",
	} {
		if got := strings.Join(split(text, scanned), "|"); got != want {
			t.Errorf("%q splits into %q, want %q", text, got, want)
		}
	}
}
