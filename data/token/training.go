package token

import (
	"fmt"
	"slices"
	"strings"
)

// The orders of the bytes' ids, which decide ties.
const (
	BytesByValue = "value" // ids 0 to 255 are the bytes' values, as kind bpe has them
	BytesAsGPT2  = "gpt2"  // as in GPT-2's vocabulary; of equal counts the same pair merges first as in Hugging Face's library tokenizers
)

// ByteOrders returns the names of both.
func ByteOrders() []string { return []string{BytesByValue, BytesAsGPT2} }

// Training is what a byte-level BPE vocabulary is trained to.
type Training struct {
	Vocab    int      // ids: the bytes, the merges, the separator, the special tokens
	Pattern  string   // one of [Patterns]
	Bytes    string   // BytesByValue or BytesAsGPT2
	Specials []string // special tokens besides the separator, whose ids come behind it
}

// Train learns the vocabulary. It is of kind bpe where a run file could ask for the same, and spells itself out otherwise. Texts and progress
// are as for [New].
func Train(o Training, texts Texts, progress Progress) (Tokenizer, error) {
	if progress == nil {
		progress = func(int64, int64) error { return nil }
	}
	t, err := o.run(texts, progress)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	return t, nil
}

func (o Training) run(texts Texts, progress Progress) (Tokenizer, error) {
	if least := minBPE + len(o.Specials); o.Vocab < least || o.Vocab > maxVocab {
		return nil, fmt.Errorf("vocab is %d, must be from %d (256 bytes, one merge, the separator%s) to %d", o.Vocab, least,
			map[bool]string{true: ", the special tokens"}[len(o.Specials) > 0], maxVocab)
	}
	p, err := patternNamed(o.Pattern)
	if err != nil {
		return nil, err
	}
	byteID := naturalBytes()
	switch o.Bytes {
	case BytesByValue:
	case BytesAsGPT2:
		byteID = gpt2Bytes()
	default:
		return nil, fmt.Errorf("bytes %q is not known (allowed: %s)", shorten(o.Bytes), strings.Join(ByteOrders(), ", "))
	}
	if err := checkSpecials(o.specials(int32(o.Vocab-1-len(o.Specials))), nil); err != nil {
		return nil, err
	}
	words, err := countWords(texts, p.split, progress)
	if err != nil {
		return nil, err
	}
	if len(words.words) == 0 {
		return nil, errNoText
	}
	merges, err := trainMerges(words, byteID, o.Vocab-257-len(o.Specials), progress)
	if err != nil {
		return nil, err
	}
	if p.name == patterns[0].name && o.Bytes == BytesByValue && len(o.Specials) == 0 {
		return newBPE(merges)
	}
	return o.spellOut(byteID, merges)
}

// spellOut makes the vocabulary's own file of what was learned.
func (o Training) spellOut(byteID [256]int32, merges []pair) (Tokenizer, error) {
	f := pairsFile{Pattern: o.Pattern, Tokens: make([][]byte, 256), Merges: make([][]int32, len(merges)), Added: []int32{}}
	for value, id := range byteID {
		f.Tokens[id] = []byte{byte(value)}
	}
	for i, p := range merges {
		left, right := p.ids()
		f.Merges[i] = []int32{left, right}
		f.Tokens = append(f.Tokens, slices.Concat(f.Tokens[left], f.Tokens[right]))
	}
	f.Separator = int32(len(f.Tokens))
	for _, s := range o.specials(f.Separator) {
		f.Special = append(f.Special, s.ID)
		f.Tokens = append(f.Tokens, []byte(s.Text))
	}
	return newPairs(f)
}

// specials are the separator, which has the given id, and the special tokens behind it.
func (o Training) specials(separator int32) []Special {
	list := []Special{{separator, endOfText}}
	for i, text := range o.Specials {
		list = append(list, Special{separator + 1 + int32(i), text})
	}
	return list
}

// naturalBytes gives every byte its value as id.
func naturalBytes() (byteID [256]int32) {
	for i := range byteID {
		byteID[i] = int32(i)
	}
	return byteID
}
