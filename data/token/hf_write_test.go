package token

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hfIDs are the ids that Hugging Face's library gives the added tokens of a tokenizer.json, by its rule (AddedVocabulary::add_tokens): what
// model.vocab has for the text, else the next id behind those that are taken, of which model.vocab counts as having one for each of its tokens.
func hfIDs(t *testing.T, file []byte) (got, want map[string]int32) {
	t.Helper()
	var f struct {
		Added []hfAdded `json:"added_tokens"`
		Model hfModel   `json:"model"`
	}
	if err := json.Unmarshal(file, &f); err != nil {
		t.Fatal(err)
	}
	got, want = map[string]int32{}, map[string]int32{}
	next := int32(len(f.Model.Vocab))
	for _, a := range f.Added {
		id, found := f.Model.Vocab[a.Content]
		if !found {
			id = next
		}
		next = max(next, id+1)
		got[a.Content], want[a.Content] = id, a.ID
	}
	return got, want
}

// TestHFSpecialIDs wants the library to give every special and added token the id that it has here, in vocabularies with gaps between ids, with a
// special token amid the others, and with tokens behind a gap.
func TestHFSpecialIDs(t *testing.T) {
	gaps := strings.Replace(readTestdata(t, "hf-gpt2.json"), `"added_tokens": [`, `"added_tokens": [{"id":700,"content":"<br>","special":false},`+
		`{"id":900,"content":"<é字>","special":true},`, 1)
	own, err := unmarshalHF([]byte(gaps))
	if err != nil {
		t.Fatal(err)
	}
	built := buildAll(t)
	built["gaps"] = own
	for name, tokenizer := range built {
		file, err := MarshalHF(tokenizer)
		if err != nil {
			continue // no byte-level BPE
		}
		got, want := hfIDs(t, file)
		if _, has := tokenizer.(WithSpecials); has && len(want) == 0 {
			t.Errorf("%s: no added tokens", name)
		}
		for text, id := range want {
			if got[text] != id {
				t.Errorf("%s: %q has id %d, and %d in the library", name, text, id, got[text])
			}
		}
	}
}

// TestHFSpelledTwice has special tokens whose text is also what another token is spelled as in a tokenizer.json, where the library takes that
// token's id for them.
func TestHFSpelledTwice(t *testing.T) {
	for _, special := range []string{"the", "Ġ"} { // a token, and the spelling of a space
		tokenizer, err := Train(Training{Vocab: 300, Pattern: "gpt2", Bytes: BytesByValue, Specials: []string{special}}, one(strings.Repeat(sample, 3)), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = MarshalHF(tokenizer)
		wantError(t, err, "are both spelled", special, "give the special token another text")
	}
	file := strings.Replace(readTestdata(t, "hf-gpt2.json"), `"added_tokens": [`, `"added_tokens": [{"id":700,"content":"!","special":true},`, 1)
	_, err := unmarshalHF([]byte(file))
	wantError(t, err, `added_tokens: "!" has id 700, and model.vocab has id 1 for it`)
}

func readTestdata(t *testing.T, name string) string {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(file)
}
