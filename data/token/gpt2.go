package token

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"
)

const (
	kindGPT2   = "gpt2"
	gpt2Tokens = 50256 // without the separator, which is the next id

	// gpt2Table is the SHA-256 of the table in the form it is published in: for each id a line of the token's bytes in base64, a space
	// and the id. OpenAI's tiktoken expects the same value of its r50k_base.tiktoken.
	gpt2Table = "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"
)

func init() {
	Register(kindGPT2, Maker{
		New:        func(Config, Texts, Progress) (Tokenizer, error) { return openGPT2() },
		Unmarshal:  unmarshalGPT2,
		KnownVocab: func(Config) int { return gpt2Vocab },
	})
}

// gpt2Vocab is the size of GPT-2's vocabulary.
const gpt2Vocab = 50257

// gpt2Tokenizer is the vocabulary of GPT-2 (Radford et al. 2019): 50257 ids, the last of which is the separator <|endoftext|>. The
// table comes from a library; encoding is ours, because that library replaces invalid UTF-8 where a byte-level vocabulary can express it.
// Text that reads <|endoftext|> is encoded as the ordinary characters it consists of.
type gpt2Tokenizer struct{ *bytePairs }

type gpt2File struct {
	header
	Table string `json:"table_sha256"`
}

// openGPT2 builds the vocabulary at its first use and shares it from then on.
var openGPT2 = sync.OnceValues(func() (Tokenizer, error) {
	tokens, err := gpt2Spellings()
	if err != nil {
		return nil, err
	}
	byteID, merges, err := recoverMerges(tokens)
	if err != nil {
		return nil, err
	}
	b, err := newBytePairs(kindGPT2, byteID, merges)
	if err != nil {
		return nil, err
	}
	return gpt2Tokenizer{b}, nil
})

// gpt2Spellings returns the bytes of each id, proved to be the published ones.
func gpt2Spellings() ([]string, error) {
	table := codec.NewR50kBase()
	tokens := make([]string, gpt2Tokens)
	hash := sha256.New()
	var line []byte
	for id := range tokens {
		token, err := table.Decode([]uint{uint(id)})
		if err != nil {
			return nil, fmt.Errorf("table of the library: %w", err)
		}
		tokens[id] = token
		line = base64.StdEncoding.AppendEncode(line[:0], []byte(token))
		line = append(strconv.AppendInt(append(line, ' '), int64(id), 10), '\n')
		hash.Write(line)
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); sum != gpt2Table {
		return nil, fmt.Errorf("the library's table has SHA-256 %s, GPT-2's has %s: pin the library's version as in go.mod", sum, gpt2Table)
	}
	return tokens, nil
}

// recoverMerges finds the merges of a vocabulary from its spellings in the order of the ids, the first 256 being the bytes. The
// merges before an id must reduce its spelling to two tokens; these are what the id joins.
func recoverMerges(tokens []string) (byteID [256]int32, merges []pair, err error) {
	for id, token := range tokens[:256] {
		byteID[token[0]] = int32(id)
	}
	table := make(mergeTable, len(tokens))
	var ids []int32
	for id, token := range tokens[256:] {
		ids = ids[:0]
		for i := range len(token) {
			ids = append(ids, byteID[token[i]])
		}
		if n := table.apply(ids); n != 2 {
			return byteID, nil, fmt.Errorf("token %d, %q, consists of %d older tokens, want 2", 256+id, token, n)
		}
		p := pairOf(ids[0], ids[1])
		table[p] = int32(256 + id)
		merges = append(merges, p)
	}
	return byteID, merges, nil
}

func (gpt2Tokenizer) Marshal() ([]byte, error) {
	return encodeFile(gpt2File{newHeader(kindGPT2), gpt2Table})
}

func unmarshalGPT2(file []byte) (Tokenizer, error) {
	var f gpt2File
	if err := decodeStrict(file, &f); err != nil {
		return nil, err
	}
	if f.Table != gpt2Table {
		return nil, fmt.Errorf("made with a table of SHA-256 %q, but this program has %s: it is not GPT-2's vocabulary", shorten(f.Table), gpt2Table)
	}
	return openGPT2()
}
