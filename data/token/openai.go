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
	kindP50K   = "p50k"
	kindCL100K = "cl100k"
	kindO200K  = "o200k"
)

// published is a vocabulary of OpenAI's. The table comes from a library; encoding is ours, because that library replaces invalid UTF-8 where a
// byte-level vocabulary can express it, and is slow. Text that reads as a special token is encoded as the ordinary characters it consists of.
type published struct {
	kind     string
	table    func() *codec.Codec
	pattern  string
	ids      int32     // of ordinary tokens, from 0 on, but for those that special tokens have
	sum      string    // SHA-256 of the table, see [published.spellings]; tiktoken expects the same of its file
	specials []Special // ascending, the separator first
}

var publishedKinds = []published{
	{kindGPT2, codec.NewR50kBase, "gpt2", 50256, "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
		[]Special{{50256, endOfText}}},
	{kindP50K, codec.NewP50kBase, "gpt2", 50281, "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
		[]Special{{50256, endOfText}}},
	{kindCL100K, codec.NewCl100kBase, "cl100k", 100256, "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
		[]Special{{100257, endOfText}, {100258, "<|fim_prefix|>"}, {100259, "<|fim_middle|>"}, {100260, "<|fim_suffix|>"}, {100276, "<|endofprompt|>"}}},
	{kindO200K, codec.NewO200kBase, "o200k", 199998, "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
		[]Special{{199999, endOfText}, {200018, "<|endofprompt|>"}}},
}

func init() {
	for _, p := range publishedKinds {
		open := sync.OnceValues(p.open) // built at its first use and shared from then on
		Register(p.kind, Maker{
			New:        func(Config, Texts, Progress) (Tokenizer, error) { return open() },
			KnownVocab: func(Config) int { return p.vocab() },
			Unmarshal: func(file []byte) (Tokenizer, error) {
				var f publishedFile
				if err := decodeStrict(file, &f); err != nil {
					return nil, err
				}
				if f.Table != p.sum {
					return nil, fmt.Errorf("made with a table of SHA-256 %q, but this program has %s: it is not the vocabulary %s", shorten(f.Table), p.sum, p.kind)
				}
				return open()
			},
		})
	}
}

type publishedFile struct {
	header
	Table string `json:"table_sha256"`
}

// publishedTokenizer is the vocabulary with the name of its table for a file.
type publishedTokenizer struct {
	*bytePairs
	sum string
}

func (t publishedTokenizer) Marshal() ([]byte, error) {
	return encodeFile(publishedFile{newHeader(t.kind), t.sum})
}

// vocab is the number of ids, those that nothing has included.
func (p published) vocab() int {
	return int(max(p.ids, p.specials[len(p.specials)-1].ID+1))
}

func (p published) open() (Tokenizer, error) {
	tokens, err := p.spellings()
	if err != nil {
		return nil, err
	}
	v := vocabulary{kind: p.kind, tokens: tokens, specials: p.specials, separator: p.specials[0].ID}
	if v.pretokens, err = patternNamed(p.pattern); err != nil {
		return nil, err
	}
	if v.byteID, v.merges, err = recoverMerges(tokens); err != nil {
		return nil, err
	}
	for _, s := range p.specials {
		tokens[s.ID] = []byte(s.Text)
	}
	return publishedTokenizer{v.build(), p.sum}, nil
}

// spellings returns the bytes of each id, empty for special tokens and for ids that nothing has, proved to be the published ones. The table is
// published as a line for each id: the token's bytes in base64, a space and the id.
func (p published) spellings() ([][]byte, error) {
	table := p.table()
	tokens := make([][]byte, p.vocab())
	hash := sha256.New()
	var line []byte
	for id := range p.ids {
		if p.isSpecial(id) {
			continue
		}
		token, err := table.Decode([]uint{uint(id)})
		if err != nil {
			return nil, fmt.Errorf("table of the library: %w", err)
		}
		tokens[id] = []byte(token)
		line = base64.StdEncoding.AppendEncode(line[:0], tokens[id])
		line = append(strconv.AppendInt(append(line, ' '), int64(id), 10), '\n')
		hash.Write(line)
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); sum != p.sum {
		return nil, fmt.Errorf("the library's table has SHA-256 %s, the published one has %s: pin the library's version as in go.mod", sum, p.sum)
	}
	return tokens, nil
}

func (p published) isSpecial(id int32) bool {
	for _, s := range p.specials {
		if s.ID == id {
			return true
		}
	}
	return false
}

// recoverMerges finds the merges of a vocabulary from its spellings in the order of the ids, the first 256 being the bytes. The
// merges before an id must reduce its spelling to two tokens; these are what the id joins. An empty spelling is none.
//
// Merging by these pairs is merging by spellings, as tiktoken does it: where two neighbours spell a token and no earlier merge applies, none
// reached across their ends, so they are what the token's bytes alone were reduced to.
func recoverMerges(tokens [][]byte) (byteID [256]int32, table *mergeTable, err error) {
	for id, token := range tokens[:256] {
		if len(token) != 1 {
			return byteID, nil, fmt.Errorf("token %d, %q, is not a byte", id, token)
		}
		byteID[token[0]] = int32(id)
	}
	table = newMergeTable(len(tokens))
	var ids []int32
	var room mergeRoom
	for id, token := range tokens[256:] {
		if len(token) == 0 {
			continue
		}
		ids = ids[:0]
		for _, value := range token {
			ids = append(ids, byteID[value])
		}
		if n := table.apply(ids, &room); n != 2 {
			return byteID, nil, fmt.Errorf("token %d, %q, consists of %d older tokens, want 2", 256+id, token, n)
		}
		table.add(ids[0], ids[1], int32(256+id))
	}
	return byteID, table, nil
}
