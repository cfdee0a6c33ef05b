package token

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// MarshalHF writes a byte-pair tokenizer, or one of bytes or of characters, as a tokenizer.json for Hugging Face's library tokenizers. Special tokens
// come with special: true, which that library finds in text unless it is told not to.
//
// Special and added tokens stand in model.vocab too. The library does not go by their ids in added_tokens: a token takes the id that model.vocab
// has for its text, and one that is not there takes the next free id behind the size of model.vocab, which is another where ids have gaps.
func MarshalHF(t Tokenizer) ([]byte, error) {
	switch t := t.(type) {
	case byteTokenizer:
		return t.marshalHF()
	case *charTokenizer:
		return t.marshalHF()
	}
	pairs, ok := t.(interface{ pairs() *bytePairs })
	if !ok || pairs.pairs().word != nil {
		return nil, fmt.Errorf("tokenizer %s: cannot be written as a tokenizer.json: byte-level BPE can, and kinds byte and char", t.Kind())
	}
	b := pairs.pairs()
	added, vocab, err := b.hfTokens()
	if err != nil {
		return nil, fmt.Errorf("tokenizer %s: %w", b.kind, err)
	}
	merges := []string{}
	for _, p := range b.merges.pairs() {
		left, right := p.ids()
		merges = append(merges, levelled(b.token(left))+" "+levelled(b.token(right)))
	}
	return hfWritten(added, b.hfPreTokenizer(), byteLevelled(true), hfPairs(vocab, merges, b.whole != nil))
}

// hfWritten is a tokenizer.json without what none of prenorm's has.
func hfWritten(added []hfAdded, pre, decoder, model any) ([]byte, error) {
	return json.MarshalIndent(map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added, "normalizer": nil, "pre_tokenizer": pre, "post_processor": nil,
		"decoder": decoder, "model": model,
	}, "", " ")
}

// hfPairs is a model of byte pairs. whole has a pre-token that is a token become that one without merges.
func hfPairs(vocab orderedVocab, merges []string, whole bool) any {
	return map[string]any{"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
		"fuse_unk": false, "byte_fallback": false, "ignore_merges": whole, "vocab": vocab, "merges": merges}
}

// byteLevelled spells bytes as characters, and as a decoder goes back. With split the text is split by GPT-2's pattern before.
func byteLevelled(split bool) any {
	return map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": split}
}

// isolated splits text by a pattern that matches all of it.
func isolated(regex string) any {
	return map[string]any{"type": "Split", "pattern": map[string]any{"Regex": regex}, "behavior": "Isolated", "invert": false}
}

// hfTokens lists the special and added tokens, and all tokens by id as they are spelled in model.vocab. One spelling cannot have two ids there.
func (b *bytePairs) hfTokens() (added []hfAdded, vocab orderedVocab, err error) {
	added = []hfAdded{}
	texts := make(map[int32]string) // spelled as they are, not byte by byte
	for i, s := range slices.Concat(b.specials, b.listed) {
		if !utf8.ValidString(s.Text) {
			return nil, nil, fmt.Errorf("special token %d, %q, is not UTF-8, so it cannot be written as JSON", s.ID, s.Text)
		}
		texts[s.ID] = s.Text
		added = append(added, hfAdded{ID: s.ID, Content: s.Text, Special: i < len(b.specials)})
	}
	owners := make(map[string]int32, b.Vocab())
	for id := range int32(b.Vocab()) {
		text, found := texts[id]
		if !found {
			text = levelled(b.token(id))
		}
		if text == "" { // an id that nothing has
			continue
		}
		if other, twice := owners[text]; twice {
			return nil, nil, fmt.Errorf("tokens %d and %d are both spelled %q in a tokenizer.json, where a spelling has one id: give the special token another text", other, id, shorten(text))
		}
		owners[text] = id
		vocab = append(vocab, hfToken{text, id})
	}
	return added, vocab, nil
}

// hfPreTokenizer is the inverse of [hfPattern].
func (b *bytePairs) hfPreTokenizer() any {
	if b.name == patterns[0].name {
		return byteLevelled(true)
	}
	return map[string]any{"type": "Sequence", "pretokenizers": []any{isolated(b.regex), byteLevelled(false)}}
}

type hfToken struct {
	text string
	id   int32
}

// orderedVocab is a JSON object whose keys are in the order of the ids.
type orderedVocab []hfToken

func (v orderedVocab) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, t := range v {
		if i > 0 {
			out = append(out, ',')
		}
		key, err := json.Marshal(t.text)
		if err != nil {
			return nil, err
		}
		out = fmt.Appendf(append(out, key...), ":%d", t.id)
	}
	return append(out, '}'), nil
}
