package token

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"
)

func newGPT2(t testing.TB) Tokenizer {
	t.Helper()
	g, err := New(Config{Kind: "gpt2"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestGPT2KnownIDs(t *testing.T) {
	g := newGPT2(t)
	if g.Vocab() != 50257 || g.Separator() != 50256 {
		t.Errorf("vocabulary %d, separator %d", g.Vocab(), g.Separator())
	}
	for text, want := range map[string][]int32{
		"Hello world":  {15496, 995},
		" Hello":       {18435},
		"Hello, world": {15496, 11, 995},
		"\n\n":         {628},
		"!":            {0},
		" gazed":       {50255},
	} {
		if got := mustEncode(t, g, text); !slices.Equal(got, want) {
			t.Errorf("%q encodes to %d, want %d", text, got, want)
		}
	}
}

// TestGPT2AgainstLibrary compares with an encoder that shares only the table with ours. It cannot be asked about invalid UTF-8.
func TestGPT2AgainstLibrary(t *testing.T) {
	g, library := newGPT2(t), codec.NewR50kBase()
	r := rand.New(rand.NewPCG(15, 16))
	texts := []string{sample, strings.Repeat("ab", 300), strings.Repeat("-", 200), strings.Repeat(" ", 300), "supercalifragilisticexpialidocious"}
	for range 500 {
		texts = append(texts, strings.ToValidUTF8(randomText(r, true), "?"))
	}
	for _, text := range texts {
		want, _, err := library.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		got := mustEncode(t, g, text)
		if !slices.EqualFunc(got, want, func(a int32, b uint) bool { return uint(a) == b }) {
			t.Fatalf("%q encodes to %d, by the library to %d", text, got, want)
		}
	}
}

func TestRecoverMergesRefusesAGap(t *testing.T) {
	tokens := make([][]byte, 256, 258)
	for i := range tokens {
		tokens[i] = []byte{byte(i)}
	}
	_, merges, err := recoverMerges(append(tokens, []byte("ab"), []byte("abc")))
	if err != nil || merges.rule('a', 'b') != 0 || merges.rule(256, 'c') != 1 || !slices.Equal(merges.result, []int32{256, 257}) {
		t.Errorf("merges %v (%v)", merges, err)
	}
	_, _, err = recoverMerges(append(tokens, []byte("ab"), []byte("cde")))
	wantError(t, err, "token 257", `"cde"`, "3 older tokens")
}
