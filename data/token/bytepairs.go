package token

import (
	"fmt"
	"math"
	"sync"
)

const (
	endOfText     = "<|endoftext|>" // what the separator of a byte-pair vocabulary decodes to; no text encodes to it
	maxVocab      = 1 << 20         // ids
	maxTokenBytes = 256             // of one token; twice the longest of GPT-2, and a bound on what a hostile file can ask for
	cachedBytes   = 64              // longest pre-token that is cached
	cachedWords   = 1 << 16         // pre-tokens in one cache, which starts anew when full
)

// bytePairs is a byte-level BPE vocabulary (Sennrich et al. 2016, on bytes as in Radford et al. 2019): 256 ids for the bytes, ids
// from 256 for the merges in order, and the separator last.
//
// It is safe for concurrent use: caches live in a pool, so each running Encode has one of its own and no lock is held.
type bytePairs struct {
	kind     string
	byteID   [256]int32
	merges   mergeTable
	spelling []byte   // the bytes of all tokens, by id
	ends     []uint32 // [vocab] where each token's bytes end in spelling
	pool     sync.Pool
}

// newBytePairs builds a vocabulary from the ids of the bytes, a permutation of [0, 256), and the merges in the order they were made.
// A merge must join two ids from before it into a token that is not too long and that no other id spells.
func newBytePairs(kind string, byteID [256]int32, merges []pair) (*bytePairs, error) {
	vocab := 256 + len(merges) + 1
	if vocab > maxVocab {
		return nil, fmt.Errorf("%d ids, more than the %d allowed", vocab, maxVocab)
	}
	b := &bytePairs{kind: kind, byteID: byteID, merges: make(mergeTable, len(merges)), ends: make([]uint32, 0, vocab)}
	b.pool.New = func() any { return &wordCache{words: map[string]span{}} }
	var byID [256]byte
	for value, id := range byteID {
		byID[id] = byte(value)
	}
	for _, value := range byID {
		b.add([]byte{value})
	}
	spelled := make(map[string]struct{}, len(merges))
	for i, p := range merges {
		id := int32(256 + i)
		left, right := p.ids()
		if left < 0 || left >= id || right < 0 || right >= id {
			return nil, fmt.Errorf("merge %d joins ids %d and %d, but only ids from 0 to %d exist before it", i, left, right, id-1)
		}
		token := append(append([]byte(nil), b.token(left)...), b.token(right)...)
		if len(token) > maxTokenBytes {
			return nil, fmt.Errorf("merge %d makes a token of %d bytes, more than the %d allowed", i, len(token), maxTokenBytes)
		}
		if _, twice := spelled[string(token)]; twice {
			return nil, fmt.Errorf("merge %d makes %q, which another id spells already", i, token)
		}
		spelled[string(token)] = struct{}{}
		b.merges[p] = id
		b.add(token)
	}
	b.add([]byte(endOfText))
	return b, nil
}

func (b *bytePairs) add(token []byte) {
	b.spelling = append(b.spelling, token...)
	b.ends = append(b.ends, uint32(len(b.spelling)))
}

// token returns the bytes of an id in the vocabulary.
func (b *bytePairs) token(id int32) []byte {
	start := uint32(0)
	if id > 0 {
		start = b.ends[id-1]
	}
	return b.spelling[start:b.ends[id]]
}

func (b *bytePairs) Kind() string     { return b.kind }
func (b *bytePairs) Vocab() int       { return len(b.ends) }
func (b *bytePairs) Separator() int32 { return int32(len(b.ends) - 1) }

func (b *bytePairs) Decode(dst []byte, ids ...int32) ([]byte, error) {
	before := len(dst)
	for i, id := range ids {
		if id < 0 || int(id) >= len(b.ends) {
			return dst[:before], errNoSuchID(b.kind, id, i, len(b.ends))
		}
		dst = append(dst, b.token(id)...)
	}
	return dst, nil
}

func (b *bytePairs) Encode(dst []int32, text []byte) ([]int32, error) {
	before := len(dst)
	cache := b.pool.Get().(*wordCache)
	defer b.pool.Put(cache)
	for at := 0; at < len(text); {
		n := pretoken(text[at:])
		if n > math.MaxInt32 {
			return dst[:before], fmt.Errorf("tokenizer %s: a run of %d bytes from byte %d without a boundary between pre-tokens, "+
				"more than 2 GiB: split the text", b.kind, n, at)
		}
		dst = b.encodeWord(dst, text[at:at+n], cache)
		at += n
	}
	return dst, nil
}

func (b *bytePairs) encodeWord(dst []int32, word []byte, cache *wordCache) []int32 {
	if len(word) == 1 {
		return append(dst, b.byteID[word[0]])
	}
	if ids, known := cache.get(word); known {
		return append(dst, ids...)
	}
	start := len(dst)
	for _, value := range word {
		dst = append(dst, b.byteID[value])
	}
	dst = dst[:start+b.merges.apply(dst[start:])]
	cache.put(word, dst[start:])
	return dst
}

// wordCache remembers the ids of pre-tokens.
type wordCache struct {
	words map[string]span
	ids   []int32
}

type span struct{ start, end uint32 }

func (c *wordCache) get(word []byte) ([]int32, bool) {
	s, known := c.words[string(word)]
	return c.ids[s.start:s.end], known
}

func (c *wordCache) put(word []byte, ids []int32) {
	if len(word) > cachedBytes {
		return
	}
	if len(c.words) >= cachedWords {
		clear(c.words)
		c.ids = c.ids[:0]
	}
	start := uint32(len(c.ids))
	c.ids = append(c.ids, ids...)
	c.words[string(word)] = span{start, uint32(len(c.ids))}
}
