package token

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestEveryCutKeepsTheIDs divides texts at every place where Cut may, with every kind and pattern.
func TestEveryCutKeepsTheIDs(t *testing.T) {
	built := buildAll(t)
	for _, pattern := range Patterns() {
		trained, err := Train(Training{Vocab: 300, Pattern: pattern, Bytes: BytesAsGPT2}, one(strings.Repeat(sample+"a!\n\n?\n'\n"+strings.Repeat("e\u0301\n", 60), 5)), nil)
		if err != nil {
			t.Fatal(err)
		}
		built[pattern+" pattern"] = trained
	}
	r := rand.New(rand.NewPCG(23, 24))
	texts := []string{sample, "a!\n b?\n\nc'\nd\n e 1\n2 \n x/\n", "é\u0301\n東\n ½\n"}
	for range 60 {
		texts = append(texts, randomText(r, false)+"!\n")
	}
	for name, tokenizer := range built {
		for _, text := range texts {
			if !expressible(tokenizer.Kind(), text) {
				continue
			}
			want := mustEncode(t, tokenizer, text)
			for i := 1; i < len(text); i++ {
				if !mayCut([]byte(text), i) {
					continue
				}
				if got := append(mustEncode(t, tokenizer, text[:i]), mustEncode(t, tokenizer, text[i:])...); !slices.Equal(got, want) {
					t.Fatalf("%s: %q before %q gives other ids than both together", name, text[:i], text[i:])
				}
			}
		}
	}
}
