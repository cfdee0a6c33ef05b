package token

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// hfFile is a tokenizer.json of Hugging Face's library tokenizers, as far as byte-level BPE uses it. What is not listed is refused by its key.
type hfFile struct {
	Version       string          `json:"version"`
	Truncation    json.RawMessage `json:"truncation"`
	Padding       json.RawMessage `json:"padding"`
	AddedTokens   []hfAdded       `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Model         json.RawMessage `json:"model"`
}

type hfAdded struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

type hfModel struct {
	Type         string           `json:"type"`
	Dropout      *float64         `json:"dropout"`
	Unknown      *string          `json:"unk_token"`
	Prefix       *string          `json:"continuing_subword_prefix"`
	Suffix       *string          `json:"end_of_word_suffix"`
	FuseUnknown  bool             `json:"fuse_unk"`
	ByteFallback bool             `json:"byte_fallback"`
	IgnoreMerges bool             `json:"ignore_merges"`
	Vocab        map[string]int32 `json:"vocab"`
	Merges       []hfMerge        `json:"merges"`
}

// hfMerge is two tokens, written as ["a","b"] or, by older versions, as "a b".
type hfMerge [2]string

func (m *hfMerge) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		var both []string
		if err := json.Unmarshal(text, &both); err != nil || len(both) != 2 {
			return fmt.Errorf("model.merges has %s, want two tokens", shorten(string(text)))
		}
		copy(m[:], both)
		return nil
	}
	var both string
	if err := json.Unmarshal(text, &both); err != nil {
		return fmt.Errorf("model.merges has %s, want two tokens", shorten(string(text)))
	}
	var found bool
	if m[0], m[1], found = strings.Cut(both, " "); !found || strings.Contains(m[1], " ") {
		return fmt.Errorf("model.merges has %q, want two tokens with a space between", shorten(both))
	}
	return nil
}

// separators are the texts of special tokens that end a document, the most usual first.
var separators = []string{endOfText, "<|end_of_text|>", "</s>", "<eos>"}

// isHF says whether a file looks like a tokenizer.json.
func isHF(file []byte) bool {
	var probe map[string]json.RawMessage
	return json.Unmarshal(file, &probe) == nil && probe["format"] == nil && probe["model"] != nil
}

// unmarshalHF reads a tokenizer.json: byte-level BPE whose pre-tokenizer has one of the known patterns. Post-processors are passed over, because
// they only put special tokens around a text, where a run has its separator between documents.
func unmarshalHF(file []byte) (Tokenizer, error) {
	var f hfFile
	if err := decodeKnown(file, &f, ""); err != nil {
		return nil, err
	}
	if err := onlyBPE(f.Model); err != nil {
		return nil, err
	}
	var m hfModel
	if err := decodeKnown(f.Model, &m, "model: "); err != nil {
		return nil, err
	}
	var err error
	out := pairsFile{Whole: m.IgnoreMerges}
	if err = f.check(m); err != nil {
		return nil, err
	}
	if out.Pattern, err = hfPattern(f.PreTokenizer); err != nil {
		return nil, err
	}
	if err := out.addTokens(f.AddedTokens, m.Vocab); err != nil {
		return nil, err
	}
	out.Merges = make([][]int32, len(m.Merges))
	for i, both := range m.Merges {
		out.Merges[i] = make([]int32, 2)
		for side, token := range both {
			id, known := m.Vocab[token]
			if !known {
				return nil, fmt.Errorf("model.merges[%d] joins %q, which model.vocab lacks", i, shorten(token))
			}
			out.Merges[i][side] = id
		}
	}
	return newPairs(out)
}

// decodeKnown decodes one JSON value, named by prefix in messages, and refuses keys that target does not have, see [exactKeys].
func decodeKnown(text []byte, target any, prefix string) error {
	if err := exactKeys(text, reflect.TypeOf(target), prefix); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(target); err != nil {
		return fmt.Errorf("%s%w", prefix, err)
	}
	if len(bytes.TrimSpace(text[d.InputOffset():])) > 0 {
		return fmt.Errorf("%ssomething follows the JSON object", prefix)
	}
	return nil
}

// null says whether a key is null or missing.
func null(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }

// check refuses what changes ids and is not supported.
func (f hfFile) check(m hfModel) error {
	empty := func(s *string) bool { return s == nil || *s == "" }
	for _, c := range []struct {
		refused bool
		key     string
		value   any
		want    string
	}{
		{!null(f.Truncation), "truncation", string(f.Truncation), "null"},
		{!null(f.Padding), "padding", string(f.Padding), "null"},
		{!null(f.Normalizer), "normalizer", string(f.Normalizer), "null: a normalizer changes the text, which then does not come back"},
		{m.Dropout != nil && *m.Dropout != 0, "model.dropout", "a number", "null"},
		{!empty(m.Prefix), "model.continuing_subword_prefix", "set", `""`},
		{!empty(m.Suffix), "model.end_of_word_suffix", "set", `""`},
		{m.ByteFallback, "model.byte_fallback", true, "false: the vocabulary is not a byte-level one"},
	} {
		if c.refused {
			return fmt.Errorf("%s: %s is not supported (want %s)", c.key, shorten(fmt.Sprint(c.value)), c.want)
		}
	}
	if err := onlyTypes("decoder", f.Decoder, false, "ByteLevel"); err != nil {
		return err
	}
	return onlyTypes("post_processor", f.PostProcessor, true, "ByteLevel", "TemplateProcessing")
}

// onlyBPE refuses models of other types, before their keys are looked at, which are others. Old files have no type, but merges.
func onlyBPE(model json.RawMessage) error {
	list, err := members(model, "model: ")
	if err != nil {
		return err
	}
	kind, err := hfType(list, "model")
	switch {
	case err != nil:
		return err
	case kind == "BPE" || kind == "" && !null(valueOf(list, "merges")):
		return nil
	case kind == "":
		return errors.New("model.type is missing, and there are no model.merges: only BPE is supported")
	}
	return fmt.Errorf("model.type: %s is not supported (want BPE)", shorten(kind))
}

// addTokens takes over the vocabulary and the added tokens.
func (out *pairsFile) addTokens(added []hfAdded, vocab map[string]int32) error {
	top := int32(-1)
	for token, id := range vocab {
		if id < 0 || id >= maxVocab {
			return fmt.Errorf("model.vocab: %q has id %d, outside [0, %d)", shorten(token), id, maxVocab)
		}
		top = max(top, id)
	}
	for _, a := range added {
		if a.ID < 0 || a.ID >= maxVocab {
			return fmt.Errorf("added_tokens: %q has id %d, outside [0, %d)", shorten(a.Content), a.ID, maxVocab)
		}
		top = max(top, a.ID)
	}
	out.Tokens, out.Separator = make([][]byte, top+1), -1
	out.Special, out.Added = []int32{}, []int32{}
	for _, a := range added {
		other, listed := vocab[a.Content]
		switch {
		case out.Tokens[a.ID] != nil:
			return fmt.Errorf("added_tokens: id %d is given twice", a.ID)
		case a.Content == "":
			return fmt.Errorf("added_tokens: id %d has no content", a.ID)
		case listed && other != a.ID: // the library goes by the second
			return fmt.Errorf("added_tokens: %q has id %d, and model.vocab has id %d for it: give both one id", shorten(a.Content), a.ID, other)
		case !a.Special && (a.SingleWord || a.LStrip || a.RStrip):
			return fmt.Errorf("added_tokens: %q is single_word, lstrip or rstrip, which is not supported for tokens that are not special", shorten(a.Content))
		}
		out.Tokens[a.ID] = []byte(a.Content)
		if a.Special {
			out.Special = append(out.Special, a.ID)
		} else {
			out.Added = append(out.Added, a.ID)
		}
	}
	slices.Sort(out.Special)
	slices.Sort(out.Added)
	for _, text := range separators {
		if i := slices.IndexFunc(out.Special, func(id int32) bool { return string(out.Tokens[id]) == text }); i >= 0 {
			out.Separator = out.Special[i]
			break
		}
	}
	return out.addVocab(vocab)
}

func (out *pairsFile) addVocab(vocab map[string]int32) error {
	for token, id := range vocab {
		bytes, ok := unlevelled(token)
		switch {
		case out.Tokens[id] != nil: // an added token
			if string(out.Tokens[id]) != token {
				return fmt.Errorf("id %d is %q in model.vocab and another token too", id, shorten(token))
			}
		case !ok || len(bytes) == 0:
			return fmt.Errorf("model.vocab: %q is not made of the characters that stand for bytes: the vocabulary is not a byte-level one, which is not supported", shorten(token))
		default:
			out.Tokens[id] = bytes
		}
	}
	return nil
}
