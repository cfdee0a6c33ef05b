package token

import (
	"errors"
	"fmt"
	"slices"
)

const kindPairs = "bytepairs"

func init() { Register(kindPairs, Maker{Unmarshal: unmarshalPairs}) }

// pairsTokenizer is a byte-level BPE vocabulary that spells out all of itself: what was read from a tokenizer.json, or trained with other than the
// defaults of kind bpe.
type pairsTokenizer struct {
	*bytePairs
	file pairsFile
}

// pairsFile says all there is to such a vocabulary. Ids are places in tokens.
type pairsFile struct {
	header
	Pattern   string    `json:"pattern"`   // how text is split, see patterns
	Whole     bool      `json:"whole"`     // a pre-token that is a token is not merged
	Separator int32     `json:"separator"` // or -1
	Special   []int32   `json:"special"`   // ids of special tokens, ascending
	Added     []int32   `json:"added"`     // ids of tokens that text is searched for before it is split, ascending
	Tokens    [][]byte  `json:"tokens"`    // null for an id that nothing has
	Merges    [][]int32 `json:"merges"`    // [left id, right id], the first one first
}

func unmarshalPairs(file []byte) (Tokenizer, error) {
	var f pairsFile
	if err := decodeStrict(file, &f); err != nil {
		return nil, err
	}
	if f.Special == nil || f.Added == nil || f.Tokens == nil || f.Merges == nil {
		return nil, errors.New("special, added, tokens or merges is null, must be a list")
	}
	return newPairs(f)
}

func (t *pairsTokenizer) Marshal() ([]byte, error) { return encodeFile(t.file) }

// newPairs builds the vocabulary that f says. Messages name the keys of f, which mean the same in a tokenizer.json.
func newPairs(f pairsFile) (Tokenizer, error) {
	if n := len(f.Tokens); n > maxVocab {
		return nil, fmt.Errorf("%d ids, more than the %d allowed", n, maxVocab)
	}
	if n := len(f.Merges); n > maxRules {
		return nil, fmt.Errorf("%d merges, more than the %d allowed", n, maxRules)
	}
	p, err := patternNamed(f.Pattern)
	if err != nil {
		return nil, err
	}
	v := vocabulary{kind: kindPairs, pretokens: p, tokens: f.Tokens, separator: f.Separator}
	ordinary := make([]bool, len(f.Tokens))
	for id, token := range f.Tokens {
		ordinary[id] = len(token) > 0
	}
	if v.specials, err = f.named("special", f.Special, ordinary); err != nil {
		return nil, err
	}
	if v.added, err = f.named("added", f.Added, ordinary); err != nil {
		return nil, err
	}
	if err := checkSpecials(v.specials, v.added); err != nil {
		return nil, err
	}
	if f.Separator != -1 && !slices.Contains(f.Special, f.Separator) {
		return nil, fmt.Errorf("separator %d is not among the special tokens", f.Separator)
	}
	spelled, err := v.spell(ordinary)
	if err != nil {
		return nil, err
	}
	if err := v.merge(f.Merges, ordinary, spelled); err != nil {
		return nil, err
	}
	if f.Whole {
		v.whole = spelled
	}
	f.header = newHeader(kindPairs)
	return &pairsTokenizer{v.build(), f}, nil
}

// named returns the tokens of ids and marks them as not ordinary.
func (f pairsFile) named(key string, ids []int32, ordinary []bool) ([]Special, error) {
	var tokens []Special
	for i, id := range ids {
		switch {
		case id < 0 || int(id) >= len(f.Tokens) || len(f.Tokens[id]) == 0:
			return nil, fmt.Errorf("%s token %d has no text", key, id)
		case i > 0 && id <= ids[i-1]:
			return nil, fmt.Errorf("%s tokens %d and %d: ids ascend and occur once", key, ids[i-1], id)
		case !ordinary[id]:
			return nil, fmt.Errorf("token %d is both special and added", id)
		}
		ordinary[id] = false
		tokens = append(tokens, Special{id, string(f.Tokens[id])})
	}
	return tokens, nil
}

// spell finds the id of each spelling among ordinary tokens, and those of the bytes.
func (v *vocabulary) spell(ordinary []bool) (map[string]int32, error) {
	spelled := make(map[string]int32, len(v.tokens))
	for id, token := range v.tokens {
		if !ordinary[id] {
			continue
		}
		if other, twice := spelled[string(token)]; twice {
			return nil, fmt.Errorf("tokens %d and %d are both %q", other, id, shorten(string(token)))
		}
		spelled[string(token)] = int32(id)
	}
	for value := range v.byteID {
		id, known := spelled[string([]byte{byte(value)})]
		if !known {
			return nil, fmt.Errorf("no token is the byte 0x%02x alone, so there is text that the vocabulary cannot express: it is not supported", value)
		}
		v.byteID[value] = id
	}
	return spelled, nil
}

// merge makes the rules.
func (v *vocabulary) merge(merges [][]int32, ordinary []bool, spelled map[string]int32) error {
	v.merges = newMergeTable(len(merges))
	var joined []byte
	for i, m := range merges {
		if len(m) != 2 {
			return fmt.Errorf("merges[%d] has %d ids, must have 2", i, len(m))
		}
		joined = joined[:0]
		for _, id := range m {
			if id < 0 || int(id) >= len(ordinary) || !ordinary[id] {
				return fmt.Errorf("merges[%d] joins id %d, which is no ordinary token", i, id)
			}
			joined = append(joined, v.tokens[id]...)
		}
		result, known := spelled[string(joined)]
		if !known {
			return fmt.Errorf("merges[%d] makes %q, which is no token", i, shorten(string(joined)))
		}
		if !v.merges.add(m[0], m[1], result) {
			return fmt.Errorf("merges[%d] joins ids %d and %d, as an earlier one does already", i, m[0], m[1])
		}
	}
	return nil
}
