package token

import "unicode/utf8"

// marshalHF writes bytes as byte pairs of which none merge. The text is split by GPT-2's pattern, which changes no id: it keeps what the library has at
// hand at a time short.
func (byteTokenizer) marshalHF() ([]byte, error) {
	var vocab orderedVocab
	for id := range 256 {
		vocab = append(vocab, hfToken{levelled([]byte{byte(id)}), int32(id)})
	}
	return hfWritten([]hfAdded{}, byteLevelled(true), byteLevelled(true), hfPairs(vocab, []string{}, false))
}

// hfUnknown spells the id of all other characters. It is no character, so no text has it.
const hfUnknown = "<unk>"

// marshalHF writes characters as words of one character each. Where another character is an error here, it is one in the library too, which looks for an
// unknown token in that case, and there is none.
func (t *charTokenizer) marshalHF() ([]byte, error) {
	var vocab orderedVocab
	for id, char := range t.alphabet {
		vocab = append(vocab, hfToken{string(char), int32(id)})
	}
	var decoder any = map[string]any{"type": "Fuse"} // without it the library puts spaces between tokens
	if t.unk {
		vocab = append(vocab, hfToken{hfUnknown, int32(len(t.alphabet))})
		replaced := map[string]any{"type": "Replace", "pattern": map[string]any{"String": hfUnknown}, "content": string(utf8.RuneError)}
		decoder = map[string]any{"type": "Sequence", "decoders": []any{replaced, decoder}} // before tokens are put together
	}
	return hfWritten([]hfAdded{}, isolated(`[\s\S]`), decoder, map[string]any{"type": "WordLevel", "vocab": vocab, "unk_token": hfUnknown})
}
