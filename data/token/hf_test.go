package token

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestHFRoundTrip writes every byte-level BPE tokenizer, reads it back, and wants the same ids and the same file again.
func TestHFRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	built := buildAll(t)
	built["hf-gpt2"], built["hf-o200k"] = load(t, "hf-gpt2.json"), load(t, "hf-o200k.json")
	delete(built, kindP50K)  // as gpt2
	delete(built, kindO200K) // its pattern has smaller ones
	delete(built, kindByte)  // for these two see TestHFPlain
	delete(built, kindChar+"-fail")
	delete(built, kindChar+"-unk")
	for name, tokenizer := range built {
		file, err := MarshalHF(tokenizer)
		if tokenizer.Kind() == kindSentencePiece {
			wantError(t, err, tokenizer.Kind(), "cannot be written as a tokenizer.json: byte-level BPE can, and kinds byte and char")
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		read, err := unmarshalHF(file)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := MarshalHF(read)
		if err != nil || string(again) != string(file) {
			t.Errorf("%s: read and written again, another file (%v)", name, err)
		}
		if read.Vocab() != tokenizer.Vocab() || read.Separator() != tokenizer.Separator() {
			t.Errorf("%s: %d ids and separator %d, want %d and %d", name, read.Vocab(), read.Separator(), tokenizer.Vocab(), tokenizer.Separator())
		}
		if got, want := read.(WithSpecials).Specials(), tokenizer.(WithSpecials).Specials(); !slices.Equal(got, want) {
			t.Errorf("%s: special tokens %v, want %v", name, got, want)
		}
		for range 60 {
			text := randomText(r, true)
			if !slices.Equal(mustEncode(t, tokenizer, text), mustEncode(t, read, text)) {
				t.Fatalf("%s: read back, it encodes %q otherwise", name, text)
			}
		}
	}
}

// TestHFRefuses wants what is not supported to be named by its key.
func TestHFRefuses(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("testdata", "hf-o200k.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		old, new string
		parts    []string
	}{
		{`"truncation": null`, `"truncation": {"max_length": 3}`, []string{"truncation", "max_length"}},
		{`"padding": null`, `"padding": {}`, []string{"padding"}},
		{`"normalizer": null`, `"normalizer": {"type": "NFC"}`, []string{"normalizer", "NFC"}},
		{`"type": "BPE"`, `"type": "WordPiece"`, []string{"model.type", "WordPiece"}},
		{`"type": "BPE"`, `"type": "Unigram"`, []string{"model.type", "Unigram"}},
		{`"dropout": null`, `"dropout": 0.1`, []string{"model.dropout"}},
		{`"byte_fallback": false`, `"byte_fallback": true`, []string{"model.byte_fallback"}},
		{`"end_of_word_suffix": null`, `"end_of_word_suffix": "</w>"`, []string{"model.end_of_word_suffix"}},
		{`"continuing_subword_prefix": null`, `"continuing_subword_prefix": "##"`, []string{"model.continuing_subword_prefix"}},
		{`"fuse_unk": false`, `"fuse_unkn": false`, []string{`: model: the key "fuse_unkn" is not supported`}},
		{`"invert"`, `"inverts"`, []string{`: pre_tokenizer: Split: the key "inverts" is not supported`}},
		{`"added_tokens": [`, `"added_tokens": [7, `, []string{"added_tokens", "number"}},
		{`"ignore_merges": false`, `"ignore_merges": 7`, []string{": model: ", "ignore_merges", "bool"}},
		{`"version"`, `"versions"`, []string{`: the key "versions" is not supported`}},
		{`"vocab"`, `"Vocab"`, []string{`: model: the key "Vocab" is not supported`, `(did you mean "vocab"?)`}},
		{`"type": "BPE"`, `"Type": "BPE"`, []string{`: model: the key "Type" is not supported`}},
		{`"model"`, `"Model"`, []string{"tokenizer file"}},
		{`"content"`, `"Content"`, []string{`: added_tokens[0]: the key "Content" is not supported`}},
		{`"id": 0`, `"id": 0, "id": 5`, []string{`: added_tokens[0]: the key "id" is given twice`}},
		{`"model"`, `"model": {}, "model"`, []string{`: the key "model" is given twice`}},
		{`"merges"`, `"merges": [], "merges"`, []string{`: model: the key "merges" is given twice`}},
		{`"!": 1`, `"!": 1, "!": 1`, []string{`: model.vocab: the key "!" is given twice`}},
		{`"!": 1`, `"!": 1, "\u0021": 1`, []string{`: model.vocab: the key "!" is given twice`}},
		{`"Regex"`, `"Regex": "a", "Regex"`, []string{`: pre_tokenizer: Split.pattern: the key "Regex" is given twice`}},
		{`"pretokenizers"`, `"Pretokenizers"`, []string{"pre_tokenizer: [] is not supported"}},
		{`"pretokenizers"`, `"pretokenizers": [], "pretokenizers"`, []string{`: pre_tokenizer: the key "pretokenizers" is given twice`}},
		{`"type": "Split"`, `"Type": "Split"`, []string{"pre_tokenizer: [, ByteLevel] is not supported"}},
		{`"type": "Split"`, `"type": 7`, []string{"pre_tokenizer.pretokenizers[0].type: ", "number"}},
		{`"post_processor": null`, `"post_processor": {"type": "ByteLevel", "type": "ByteLevel"}`, []string{`: post_processor: the key "type" is given twice`}},
		{`"decoder": {`, `"decoder": {"type": "WordPiece", `, []string{`: decoder: the key "type" is given twice`}},
		{`"add_prefix_space": false`, `"add_prefix_space": true`, []string{"pre_tokenizer", "add_prefix_space"}},
		{`"behavior": "Isolated"`, `"behavior": "Removed"`, []string{"pre_tokenizer", "Removed"}},
		{`"type": "Split"`, `"type": "Digits"`, []string{"pre_tokenizer", "Digits, ByteLevel"}},
		{`\\p{N}{1,3}`, `\\p{N}{1,4}`, []string{"pre_tokenizer", "{1,4}", "o200k"}},
		{`"use_regex": false`, `"use_regex": true`, []string{"pre_tokenizer", "use_regex"}},
		{`"post_processor": null`, `"post_processor": {"type": "BertProcessing"}`, []string{"post_processor", "BertProcessing"}},
		{`"lstrip": false`, `"lstrip": true`, nil}, // of a special token, which text is not searched for
		{`"special": true`, `"special": false, "rstrip": true`, []string{"added_tokens", "rstrip"}},
		{`"content": "<|endoftext|>"`, `"content": ""`, []string{"added_tokens", "no content"}},
		{`"id": 0`, `"id": -1`, []string{"added_tokens", "-1"}},
		{`"id": 0`, `"id": 1`, []string{"id 1"}},
		{`"id": 0`, `"id": 2000000000`, []string{"added_tokens", "2000000000"}},
		{`"!": 1`, `"!": 2`, []string{"2"}},
		{`"!": 1`, `"!!": 1`, []string{"model.merges", `"!"`, "lacks"}},
		{`"ÿ": 0`, `"ÿÿ": 188`, []string{"0xff", "cannot express"}},
		{`"!": 1`, `"字": 1`, []string{"model.vocab", "字"}},
		{`"merges": [`, `"merges": [["!"],`, []string{"model.merges", "two tokens"}},
		{`"merges": [`, `"merges": ["! # $",`, []string{"model.merges", "! # $"}},
		{`"merges": [`, `"merges": [["!", "字"],`, []string{"model.merges[0]", "字"}},
		{`"merges": [`, `"merges": [["!", "~"],`, []string{"merges[0]", "!~", "no token"}},
	} {
		// A value that the file has otherwise is put in by its key.
		old := c.old
		if key, _, found := strings.Cut(old, ":"); !strings.Contains(string(whole), old) && found {
			at := strings.Index(string(whole), key+":")
			if at < 0 {
				t.Fatalf("the file has no %s", key)
			}
			end := at + strings.IndexAny(string(whole[at:]), ",\n")
			old = string(whole[at:end])
		}
		changed := strings.Replace(string(whole), old, c.new, 1)
		path := filepath.Join(t.TempDir(), "tokenizer.json")
		if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		if c.parts == nil {
			if err != nil {
				t.Errorf("%s: %v", c.new, err)
			}
			continue
		}
		wantError(t, err, append(c.parts, path)...)
	}
}

// TestHFOtherModels has models of other types as the library writes them: the type is what is refused, not a key that only they have.
func TestHFOtherModels(t *testing.T) {
	for _, c := range []struct{ model, want string }{
		{`{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{"[UNK]":0}}`, "model.type: WordPiece is not supported (want BPE)"},
		{`{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0.0]],"byte_fallback":false}`, "model.type: Unigram is not supported (want BPE)"},
		{`{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}`, "model.type: WordLevel is not supported (want BPE)"},
		{`{"unk_id":0,"vocab":[["<unk>",0.0]]}`, "model.type is missing, and there are no model.merges: only BPE is supported"},
	} {
		_, err := unmarshalHF([]byte(`{"version":"1.0","truncation":null,"added_tokens":[],"normalizer":{"type":"NFC"},"model":` + c.model + `}`))
		wantError(t, err, c.want)
	}
}

// TestHFOtherPatterns has splits by what no pattern is.
func TestHFOtherPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		`{"Regex":"\\d+"}`: `pre_tokenizer: Split: pattern.Regex: "\\d+" is not supported (want the regular expression of `,
		`{"String":" "}`:   `pre_tokenizer: Split: pattern.String: " " is not supported (want the regular expression of `,
	} {
		_, err := knownSplit([]byte(`{"type":"Split","behavior":"Isolated","invert":false,"pattern":` + pattern + `}`))
		wantError(t, err, want)
	}
}

// TestHFAddedTokens has a token that is found in text, and special ones that are not unless asked for.
func TestHFAddedTokens(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("testdata", "hf-gpt2.json"))
	if err != nil {
		t.Fatal(err)
	}
	const flags = `"single_word":false,"lstrip":false,"rstrip":false,"normalized":false`
	changed := strings.Replace(string(whole), `"added_tokens": [`, `"added_tokens": [{"id":700,"content":"<br>",`+flags+`,"special":false},`+
		`{"id":701,"content":"<br><br>",`+flags+`,"special":false},`, 1)
	tokenizer, err := unmarshalHF([]byte(changed))
	if err != nil {
		t.Fatal(err)
	}
	plain := load(t, "hf-gpt2.json")
	a, b, end := mustEncode(t, plain, "a "), mustEncode(t, plain, " b"), mustEncode(t, plain, endOfText)
	want := slices.Concat(a, []int32{701, 700}, b, end)
	text := "a <br><br><br> b" + endOfText
	if got := mustEncode(t, tokenizer, text); !slices.Equal(got, want) {
		t.Errorf("ids %d, want %d", got, want)
	}
	got, err := tokenizer.(WithSpecials).EncodeSpecials(nil, []byte(text))
	if want := slices.Concat(a, []int32{701, 700}, b, []int32{0}); err != nil || !slices.Equal(got, want) {
		t.Errorf("with special tokens ids %d (%v), want %d", got, err, want)
	}
	if tokenizer.Vocab() != 702 {
		t.Errorf("%d ids", tokenizer.Vocab())
	}
	if back, err := tokenizer.Decode(nil, 650); err != nil || len(back) > 0 {
		t.Errorf("an id that nothing has decodes to %q (%v)", back, err)
	}
	_, err = unmarshalHF([]byte(strings.Replace(changed, `"<br>"`, `"a b"`, 1)))
	wantError(t, err, "added token 700", "a b", "space")
}

// TestWholeTokens has ignore_merges, by which a pre-token that is a token is not merged.
func TestWholeTokens(t *testing.T) {
	f := pairsFile{Pattern: "gpt2", Separator: -1, Special: []int32{}, Added: []int32{}, Merges: [][]int32{{'a', 'b'}}}
	for value := range 256 {
		f.Tokens = append(f.Tokens, []byte{byte(value)})
	}
	f.Tokens = append(f.Tokens, []byte("ab"), []byte("bc"), []byte("abc"))
	for _, whole := range []bool{false, true} {
		f.Whole = whole
		tokenizer, err := newPairs(f)
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool][]int32{false: {256, 'c', ' ', 256}, true: {258, ' ', 256}}[whole]
		if got := mustEncode(t, tokenizer, "abc ab"); !slices.Equal(got, want) {
			t.Errorf("whole %v: ids %d, want %d", whole, got, want)
		}
	}
}
