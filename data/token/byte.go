package token

import (
	"fmt"
	"slices"
)

const kindByte = "byte"

func init() {
	Register(kindByte, Maker{
		New:        func(Config, Texts, Progress) (Tokenizer, error) { return byteTokenizer{}, nil },
		KnownVocab: func(Config) int { return byteTokenizer{}.Vocab() },
		Unmarshal: func(file []byte) (Tokenizer, error) {
			var f header
			if err := decodeStrict(file, &f); err != nil {
				return nil, err
			}
			return byteTokenizer{}, nil
		},
	})
}

// byteTokenizer has one id for each byte value, the value itself. It needs no training, expresses any input and has no separator.
type byteTokenizer struct{}

func (byteTokenizer) Kind() string             { return kindByte }
func (byteTokenizer) Vocab() int               { return 256 }
func (byteTokenizer) Separator() int32         { return -1 }
func (byteTokenizer) places() Places           { return everyPlace }
func (byteTokenizer) Marshal() ([]byte, error) { return encodeFile(newHeader(kindByte)) }

func (byteTokenizer) Encode(dst []int32, text []byte) ([]int32, error) {
	dst = slices.Grow(dst, len(text))
	for _, b := range text {
		dst = append(dst, int32(b))
	}
	return dst, nil
}

func (byteTokenizer) Decode(dst []byte, ids ...int32) ([]byte, error) {
	before := len(dst)
	for i, id := range ids {
		if id < 0 || id > 255 {
			return dst[:before], errNoSuchID(kindByte, id, i, 256)
		}
		dst = append(dst, byte(id))
	}
	return dst, nil
}

// errNoSuchID is the error of every kind's Decode. index is the place of id in the call.
func errNoSuchID(kind string, id int32, index, vocab int) error {
	return fmt.Errorf("tokenizer %s: id %d (number %d of those to decode) is outside the vocabulary [0, %d): "+
		"the ids come from another tokenizer or a damaged file", kind, id, index, vocab)
}
