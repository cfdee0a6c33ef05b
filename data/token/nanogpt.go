package token

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// unmarshalMeta reads the meta.pkl that nanoGPT writes beside ids of characters: {"vocab_size": n, "itos": {id: character}, "stoi": {character: id}}.
func unmarshalMeta(file []byte) (Tokenizer, error) {
	value, err := unpickle(file)
	if err != nil {
		return nil, err
	}
	meta, _ := value.(map[any]any)
	chars, ok := meta["itos"].(map[any]any)
	if !ok || len(chars) == 0 {
		return nil, errors.New("the pickle is no dict with a dict itos, as nanoGPT's meta.pkl is for characters")
	}
	for key := range meta {
		if key != "itos" && key != "stoi" && key != "vocab_size" {
			return nil, fmt.Errorf("the key %q is not supported (want vocab_size, itos and stoi)", shorten(fmt.Sprint(key)))
		}
	}
	if size, given := meta["vocab_size"]; given && size != int64(len(chars)) {
		return nil, fmt.Errorf("vocab_size is not the number of characters in itos, %d", len(chars))
	}
	ids, given := meta["stoi"].(map[any]any)
	if _, there := meta["stoi"]; there != given || given && len(ids) != len(chars) {
		return nil, fmt.Errorf("stoi is no dict of the %d characters in itos", len(chars))
	}
	alphabet := make([]rune, len(chars))
	for id := range alphabet {
		text, _ := chars[int64(id)].(string)
		char, n := utf8.DecodeRuneInString(text)
		switch {
		case n == 0 || n != len(text) || char == utf8.RuneError && n == 1:
			return nil, fmt.Errorf("itos[%d] is %q, want one character: ids are 0 to %d", id, shorten(text), len(chars)-1)
		case given && ids[text] != int64(id):
			return nil, fmt.Errorf("stoi has another id for %q than itos, which has %d", text, id)
		case id > 0 && char <= alphabet[id-1]:
			return nil, fmt.Errorf("itos[%d], %q, does not come after %q: characters in another order than that of their code points are not supported", id, char, alphabet[id-1])
		}
		alphabet[id] = char
	}
	return newChar(alphabet, false), nil
}
