package token

import (
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"sync"
)

const (
	endOfText     = "<|endoftext|>" // what the separator of a byte-pair vocabulary decodes to; no text encodes to it
	maxVocab      = 1 << 20         // ids
	maxTokenBytes = 256             // of one token that a merge spells; a bound on what a hostile file can ask for
	cachedBytes   = 30              // longest pre-token that is cached
	cachedWords   = 1 << 15         // pre-tokens in one cache
)

// bytePairs is a byte-level BPE vocabulary (Sennrich et al. 2016, on bytes as in Radford et al. 2019): ids for the bytes, ids for the
// merges, and ids for special tokens, which no merge makes.
//
// It is safe for concurrent use: caches live in a pool, so each running Encode has one of its own and no lock is held.
type bytePairs struct {
	kind      string
	pretokens             // name "" where a regular expression would not say it
	word      wordEncoder // nil: bytes are merged
	byteID    [256]int32
	merges    *mergeTable
	spelling  []byte   // the bytes of all tokens, by id
	ends      []uint32 // [vocab] where each token's bytes end in spelling
	separator int32
	specials  []Special
	listed    []Special        // the tokens that added finds
	whole     map[string]int32 // tokens that a pre-token becomes without merging; nil where all merge
	added     *matcher         // tokens that text is searched for before it is split
	special   *matcher         // the same and the special tokens
	cuts      Places           // where no token reaches across
	pool      sync.Pool
}

// wordEncoder appends the ids of a pre-token. Positions in an unknownError are those in the word.
type wordEncoder func(dst []int32, word []byte, room *mergeRoom) ([]int32, error)

// vocabulary is what a bytePairs is built from.
type vocabulary struct {
	kind      string
	pretokens pretokens
	word      wordEncoder
	byteID    [256]int32
	tokens    [][]byte // by id; empty for an id that stands for nothing, which decodes to nothing
	merges    *mergeTable
	separator int32
	specials  []Special
	added     []Special
	whole     map[string]int32
	inside    Places // what tokens that word makes reach across
}

func (v vocabulary) build() *bytePairs {
	b := &bytePairs{
		kind: v.kind, pretokens: v.pretokens, word: v.word, byteID: v.byteID, merges: v.merges, separator: v.separator, specials: v.specials,
		whole: v.whole, listed: v.added, added: newMatcher(v.added), special: newMatcher(append(v.specials[:len(v.specials):len(v.specials)], v.added...)),
	}
	for _, s := range slices.Concat(v.specials, v.added) {
		v.inside |= placesInside(s.Text)
	}
	b.cuts = patternPlaces &^ v.inside
	b.pool.New = func() any { return newWordCache() }
	for _, token := range v.tokens {
		b.spelling = append(b.spelling, token...)
		b.ends = append(b.ends, uint32(len(b.spelling)))
	}
	return b
}

// newBytePairs builds a vocabulary from the ids of the bytes, a permutation of [0, 256), and the merges in the order they were made; the
// separator comes last. A merge must join two ids from before it into a token that is not too long and that no other id spells.
func newBytePairs(kind string, byteID [256]int32, merges []pair) (*bytePairs, error) {
	vocab := 256 + len(merges) + 1
	if vocab > maxVocab {
		return nil, fmt.Errorf("%d ids, more than the %d allowed", vocab, maxVocab)
	}
	v := vocabulary{kind: kind, pretokens: patterns[0], byteID: byteID, merges: newMergeTable(len(merges)), tokens: make([][]byte, 256, vocab)}
	for value, id := range byteID {
		v.tokens[id] = []byte{byte(value)}
	}
	spelled := make(map[string]struct{}, len(merges))
	for i, p := range merges {
		id := int32(256 + i)
		left, right := p.ids()
		if left < 0 || left >= id || right < 0 || right >= id {
			return nil, fmt.Errorf("merge %d joins ids %d and %d, but only ids from 0 to %d exist before it", i, left, right, id-1)
		}
		token := append(append([]byte(nil), v.tokens[left]...), v.tokens[right]...)
		if len(token) > maxTokenBytes {
			return nil, fmt.Errorf("merge %d makes a token of %d bytes, more than the %d allowed", i, len(token), maxTokenBytes)
		}
		if _, twice := spelled[string(token)]; twice {
			return nil, fmt.Errorf("merge %d makes %q, which another id spells already", i, token)
		}
		spelled[string(token)] = struct{}{}
		v.merges.add(left, right, id)
		v.tokens = append(v.tokens, token)
	}
	v.separator = int32(len(v.tokens))
	v.specials = []Special{{v.separator, endOfText}}
	v.tokens = append(v.tokens, []byte(endOfText))
	return v.build(), nil
}

// token returns the bytes of an id in the vocabulary.
func (b *bytePairs) token(id int32) []byte {
	start := uint32(0)
	if id > 0 {
		start = b.ends[id-1]
	}
	return b.spelling[start:b.ends[id]]
}

func (b *bytePairs) pairs() *bytePairs   { return b }
func (b *bytePairs) places() Places      { return b.cuts }
func (b *bytePairs) Kind() string        { return b.kind }
func (b *bytePairs) Vocab() int          { return len(b.ends) }
func (b *bytePairs) Separator() int32    { return b.separator }
func (b *bytePairs) Specials() []Special { return b.specials }

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
	return b.encode(dst, text, b.added)
}

func (b *bytePairs) EncodeSpecials(dst []int32, text []byte) ([]int32, error) {
	return b.encode(dst, text, b.special)
}

// encode encodes the text between the tokens that m finds, and puts their ids between.
func (b *bytePairs) encode(dst []int32, text []byte, m *matcher) ([]int32, error) {
	before := len(dst)
	cache := b.pool.Get().(*wordCache)
	defer b.pool.Put(cache)
	for at := 0; at < len(text); {
		start, end, id := m.next(text, at)
		var err error
		if dst, err = b.encodePlain(dst, text[:start], at, cache); err != nil {
			return dst[:before], err
		}
		if end > start {
			dst = append(dst, id)
		}
		at = end
	}
	return dst, nil
}

// encodePlain encodes text[at:].
func (b *bytePairs) encodePlain(dst []int32, text []byte, at int, cache *wordCache) ([]int32, error) {
	for at < len(text) {
		n := b.split(text[at:])
		if n > math.MaxInt32 {
			return dst, fmt.Errorf("tokenizer %s: a run of %d bytes from byte %d without a boundary between pre-tokens, more than 2 GiB: split the text", b.kind, n, at)
		}
		word := text[at : at+n]
		place, known := cache.find(word)
		if known {
			dst = append(dst, place.ids[:place.count]...)
		} else {
			start := len(dst)
			var err error
			if dst, err = b.encodeWord(dst, word, &cache.room); err != nil {
				later(err, at)
				return dst, err
			}
			place.put(word, dst[start:])
		}
		at += n
	}
	return dst, nil
}

func (b *bytePairs) encodeWord(dst []int32, word []byte, room *mergeRoom) ([]int32, error) {
	if b.word != nil {
		return b.word(dst, word, room)
	}
	if b.whole != nil {
		if id, known := b.whole[string(word)]; known {
			return append(dst, id), nil
		}
	}
	start := len(dst)
	for _, value := range word {
		dst = append(dst, b.byteID[value])
	}
	return dst[:start+b.merges.apply(dst[start:], room)], nil
}

// wordCache remembers the ids of pre-tokens, in a fixed room of 2 MiB: a word that falls on another's place takes it. It is for one goroutine.
type wordCache struct {
	seed  maphash.Seed
	words []cachedWord
	room  mergeRoom
}

// cachedWord fills one line of memory.
type cachedWord struct {
	ids    [8]int32
	word   [cachedBytes]byte
	length uint8 // of the word, 0 where there is none
	count  uint8 // of ids
}

func newWordCache() *wordCache {
	return &wordCache{seed: maphash.MakeSeed(), words: make([]cachedWord, cachedWords)}
}

// find returns the place of a word, and whether it is there; nil where the word is too long to be remembered.
func (c *wordCache) find(word []byte) (place *cachedWord, known bool) {
	if len(word) > cachedBytes {
		return nil, false
	}
	place = &c.words[maphash.Bytes(c.seed, word)%cachedWords]
	return place, int(place.length) == len(word) && string(place.word[:len(word)]) == string(word)
}

// put remembers a word at its place if it has few ids.
func (w *cachedWord) put(word []byte, ids []int32) {
	if w == nil || len(ids) > len(w.ids) {
		return
	}
	w.length, w.count = uint8(copy(w.word[:], word)), uint8(copy(w.ids[:], ids))
}
