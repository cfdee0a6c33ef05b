package token

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf8"
)

// TestHFPlain writes kinds byte and char as a tokenizer.json. Bytes come back by what reads such files; characters are a model of words, whose rules
// are followed here: a word that is none of the vocabulary is the unknown token, or an error where the vocabulary has no such token.
func TestHFPlain(t *testing.T) {
	built := buildAll(t)
	file, err := MarshalHF(built[kindByte])
	if err != nil {
		t.Fatal(err)
	}
	read, err := unmarshalHF(file)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(23, 24))
	for range 60 {
		text := randomText(r, true)
		if !slices.Equal(mustEncode(t, read, text), mustEncode(t, built[kindByte], text)) || read.Vocab() != 256 || read.Separator() != -1 {
			t.Fatalf("bytes of %q are otherwise", text)
		}
	}
	for _, name := range []string{kindChar + "-fail", kindChar + "-unk"} {
		char := built[name].(*charTokenizer)
		words := hfWords(t, char)
		unknown, can := words.Vocab[words.Unknown]
		if can != char.unk || len(words.Vocab) != char.Vocab() {
			t.Fatalf("%s: unknown token %v, %d of %d words", name, can, len(words.Vocab), char.Vocab())
		}
		for range 60 {
			text := randomText(r, false)
			got, fails := []int32{}, false
			for _, c := range text {
				id, known := words.Vocab[string(c)]
				if fails = fails || !known && !can; !known {
					id = unknown
				}
				got = append(got, id)
			}
			want, err := char.Encode(nil, []byte(text))
			if fails != (err != nil) || err == nil && !slices.Equal(got, want) {
				t.Fatalf("%s: %q becomes %v, want %v, %v", name, text, got, want, err)
			}
		}
	}
}

// hfModelOfWords is what a tokenizer.json says of a model of words.
type hfModelOfWords struct {
	Type    string           `json:"type"`
	Vocab   map[string]int32 `json:"vocab"`
	Unknown string           `json:"unk_token"`
}

// hfWords reads the model of a written file, and wants its other parts to be those that give each character alone, and decode without spaces.
func hfWords(t *testing.T, char *charTokenizer) (m hfModelOfWords) {
	t.Helper()
	file, err := MarshalHF(char)
	if err != nil {
		t.Fatal(err)
	}
	var f hfFile
	if err := json.Unmarshal(file, &f); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(f.Model, &m); err != nil || m.Type != "WordLevel" {
		t.Fatalf("%v: %s", err, f.Model)
	}
	var split hfSplit
	if err := json.Unmarshal(f.PreTokenizer, &split); err != nil || split.Type != "Split" || split.Behavior != "Isolated" || split.Pattern["Regex"] != `[\s\S]` {
		t.Errorf("%v: text is split by %s", err, f.PreTokenizer)
	}
	parts, err := flatten("decoder", f.Decoder)
	if err != nil || parts[len(parts)-1].Type != "Fuse" {
		t.Errorf("%v: the decoder is %s", err, f.Decoder)
	}
	if char.unk {
		var replace struct {
			Type    string
			Pattern map[string]string
			Content string
		}
		if err := json.Unmarshal(parts[0].raw, &replace); err != nil || replace.Type != "Replace" || replace.Pattern["String"] != m.Unknown || replace.Content != string(utf8.RuneError) {
			t.Errorf("%v: an unknown character comes back as %s", err, parts[0].raw)
		}
	}
	return m
}
