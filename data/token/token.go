// Package token turns text into token ids and back. Each kind of tokenizer is one file that registers itself.
package token

import (
	"iter"
)

// Tokenizer maps bytes to ids in [0, Vocab) and back. It is immutable and safe for concurrent use.
type Tokenizer interface {
	// Kind is the registered name.
	Kind() string
	// Vocab is the number of ids.
	Vocab() int
	// Encode appends the ids of text to dst. Text that the tokenizer cannot express is an error that names the character and its
	// byte position.
	Encode(dst []int32, text []byte) ([]int32, error)
	// Decode appends the bytes of ids to dst. The bytes of one token need not be whole UTF-8 characters. An id outside the
	// vocabulary is an error.
	Decode(dst []byte, ids ...int32) ([]byte, error)
	// Separator is the id put between documents, or -1 where the tokenizer has none.
	Separator() int32
	// Marshal returns the tokenizer as a self-contained file, the same bytes every time; [Unmarshal] reads it back.
	Marshal() ([]byte, error)
}

// Texts is a sequence of texts to train on, or the error that ended it.
type Texts = iter.Seq2[[]byte, error]
