package token

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/dlclark/regexp2"
)

// againstRegexp wants a splitter's pre-tokens of text to be the matches of a pattern.
func againstRegexp(engine *regexp2.Regexp, splitter splitter, text string) error {
	match, err := engine.FindStringMatch(text)
	for rest := text; rest != ""; {
		n := splitter([]byte(rest))
		if err != nil || match == nil || n <= 0 || match.String() != rest[:n] {
			return fmt.Errorf("%q, at %q: scanner %d bytes, pattern %v (%v)", text, rest, n, match, err)
		}
		rest = rest[n:]
		match, err = engine.FindNextMatch(match)
	}
	return nil
}

// TestPatternsExhaustively runs the patterns that files are written with on every text of up to four characters of all classes.
func TestPatternsExhaustively(t *testing.T) {
	characters := []string{"'", "s", "L", "ʰ", "字", "\u0301", "1", "!", "/", " ", "\n", "\u00a0"}
	for _, p := range patterns {
		engine := regexp2.MustCompile(p.regex, regexp2.None)
		var extend func(text string, more int)
		extend = func(text string, more int) {
			if err := againstRegexp(engine, p.split, text); err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			for _, c := range characters[:min(more, 1)*len(characters)] {
				extend(text+c, more-1)
			}
		}
		extend("", 4)
	}
}

func TestPatternsOnRandomTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	characters := []rune("'sS''tTrReEvVllLLmd aAzZʰ字가\u0301\u05b01٢½Ⅷ!?/. \t\n\r\u00a0\u3000ǅßжЖ🙂")
	for _, p := range patterns {
		engine := regexp2.MustCompile(p.regex, regexp2.None)
		for range 1500 {
			var text strings.Builder
			for range 1 + r.IntN(24) {
				text.WriteRune(characters[r.IntN(len(characters))])
			}
			text.WriteString(strings.ToValidUTF8(randomText(r, true), "?"))
			if err := againstRegexp(engine, p.split, text.String()); err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
		}
	}
}

// TestClassesAreUnicodes holds the table against package unicode's own functions.
func TestClassesAreUnicodes(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		want := other
		switch {
		case r == '\r' || r == '\n':
			want = line
		case unicode.In(r, unicode.Lu, unicode.Lt):
			want = upper
		case unicode.Is(unicode.Ll, r):
			want = lower
		case unicode.IsLetter(r):
			want = caseless
		case unicode.IsMark(r):
			want = mark
		case unicode.IsNumber(r):
			want = number
		case unicode.IsSpace(r):
			want = space
		}
		if r >= 0xD800 && r < 0xE000 {
			continue
		}
		if got, _ := classify([]byte(string(r))); got != want {
			t.Fatalf("%U is of class %b, want %b", r, got, want)
		}
	}
}

// TestFoldedContractions has what ignoring case adds: the long s, U+017F. In o200k_base a contraction belongs to the word before it.
func TestFoldedContractions(t *testing.T) {
	for text, want := range map[string]string{
		"'ſa": "'ſ", "'LLb": "'LL", "'Reb": "'Re", "'sb": "'s", "'xb": "'xb", "'l": "'l",
	} {
		for _, p := range []splitter{splitCL100K, splitLlama3, splitQwen2} {
			if n := p([]byte(text)); text[:n] != want {
				t.Errorf("%q begins with %q, want %q", text, text[:n], want)
			}
		}
	}
	for text, want := range map[string]string{"a'ſb": "a'ſ", "a'LLb": "a'LL", "a'Reb": "a'Re", "a'sb": "a's", "a'xb": "a", "a'l": "a"} {
		if n := splitO200K([]byte(text)); text[:n] != want {
			t.Errorf("o200k: %q begins with %q, want %q", text, text[:n], want)
		}
	}
}
