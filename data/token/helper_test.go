package token

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// sample has every class of character, contractions, runs of white space and characters of one to four bytes.
const sample = "The cat's hat isn't there; they're 42 or 1234!  \n\n\tNaïve café — 東京へ行く, ½ of ⅷ.\r\n" +
	"the cat sat on the mat, the hat on the cat   \u00a0and  <|endoftext|> 🙂🙃 we've I'll I'd I'm don't ''s\n"

// one is a corpus of the given texts.
func one(texts ...string) Texts {
	return func(yield func([]byte, error) bool) {
		for _, text := range texts {
			if !yield([]byte(text), nil) {
				return
			}
		}
	}
}

// buildAll makes a tokenizer of every kind from sample, char in both its modes.
func buildAll(t testing.TB) map[string]Tokenizer {
	t.Helper()
	built := map[string]Tokenizer{}
	for _, kind := range Kinds() {
		for _, unknown := range []string{"fail", "unk"} {
			name := kind
			if kind == kindChar {
				name += "-" + unknown
			}
			cfg := Config{Kind: kind, Vocab: 300, Unknown: unknown}
			tokenizer, err := New(cfg, one(strings.Repeat(sample, 3)), nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			built[name] = tokenizer
		}
	}
	return built
}

// expressible says whether kind can express text exactly: char only what the sample is made of.
func expressible(kind, text string) bool {
	if kind != kindChar {
		return true
	}
	return strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune(sample, r) || r == '\ufffd' }) < 0
}

// randomText draws pieces of sample, other characters and, where bytes is set, any bytes.
func randomText(r *rand.Rand, bytes bool) string {
	var text strings.Builder
	characters := []rune(sample)
	for range r.IntN(60) {
		switch r.IntN(6) {
		case 0:
			text.WriteString(strings.Repeat(string(characters[r.IntN(len(characters))]), 1+r.IntN(80)))
		case 1:
			if bytes {
				text.WriteByte(byte(r.IntN(256)))
			}
		case 2:
			if bytes {
				text.WriteRune(rune(r.IntN(0x11000)))
			}
		default:
			from := r.IntN(len(characters))
			text.WriteString(string(characters[from:min(len(characters), from+r.IntN(8))]))
		}
	}
	return text.String()
}

func mustEncode(t testing.TB, tokenizer Tokenizer, text string) []int32 {
	t.Helper()
	ids, err := tokenizer.Encode(nil, []byte(text))
	if err != nil {
		t.Fatalf("%s: Encode(%q): %v", tokenizer.Kind(), text, err)
	}
	return ids
}

func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}
