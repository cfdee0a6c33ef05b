package token

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// MarshalHF writes a byte-pair tokenizer as a tokenizer.json for Hugging Face's library tokenizers. Special tokens come with special: true, which
// that library finds in text unless it is told not to.
func MarshalHF(t Tokenizer) ([]byte, error) {
	pairs, ok := t.(interface{ pairs() *bytePairs })
	if !ok || pairs.pairs().word != nil {
		return nil, fmt.Errorf("tokenizer %s: only byte-level BPE can be written as a tokenizer.json", t.Kind())
	}
	b := pairs.pairs()
	added := []hfAdded{}
	ordinary := make([]bool, b.Vocab())
	for id := range ordinary {
		ordinary[id] = len(b.token(int32(id))) > 0
	}
	for i, s := range append(b.specials[:len(b.specials):len(b.specials)], b.listed...) {
		if !utf8.ValidString(s.Text) {
			return nil, fmt.Errorf("tokenizer %s: special token %d, %q, is not UTF-8, so it cannot be written as JSON", b.kind, s.ID, s.Text)
		}
		ordinary[s.ID] = false
		added = append(added, hfAdded{ID: s.ID, Content: s.Text, Special: i < len(b.specials)})
	}
	vocab := orderedVocab{}
	for id, is := range ordinary {
		if is {
			vocab = append(vocab, hfToken{levelled(b.token(int32(id))), int32(id)})
		}
	}
	merges := []string{}
	for _, p := range b.merges.pairs() {
		left, right := p.ids()
		merges = append(merges, levelled(b.token(left))+" "+levelled(b.token(right)))
	}
	level := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}
	return json.MarshalIndent(map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added, "normalizer": nil, "pre_tokenizer": b.hfPreTokenizer(),
		"post_processor": nil, "decoder": level,
		"model": map[string]any{"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
			"fuse_unk": false, "byte_fallback": false, "ignore_merges": b.whole != nil, "vocab": vocab, "merges": merges},
	}, "", " ")
}

// hfPreTokenizer is the inverse of [hfPattern].
func (b *bytePairs) hfPreTokenizer() any {
	own := b.name == patterns[0].name
	level := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": own}
	if own {
		return level
	}
	split := map[string]any{"type": "Split", "pattern": map[string]any{"Regex": b.regex}, "behavior": "Isolated", "invert": false}
	return map[string]any{"type": "Sequence", "pretokenizers": []any{split, level}}
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
