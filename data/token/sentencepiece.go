package token

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const kindSentencePiece = "sentencepiece"

func init() {
	Register(kindSentencePiece, Maker{Unmarshal: func(file []byte) (Tokenizer, error) {
		var f spFile
		if err := decodeStrict(file, &f); err != nil {
			return nil, err
		}
		if f.Model == nil {
			return nil, errors.New("model is null, must be a SentencePiece model")
		}
		return newSentencePiece(f.Model)
	}})
}

// spTokenizer is a BPE model of SentencePiece (Kudo and Richardson 2018) that leaves text as it is. Characters that no piece has become bytes,
// where the model has pieces for these, and are errors otherwise. So does U+2581, which stands for a space in pieces: SentencePiece takes it for
// one, and it would not come back.
type spTokenizer struct {
	*bytePairs
	model   []byte
	symbols map[rune]int32 // the id that a character begins as
	strange int32          // that of a character in no piece; it and all above stand for no token
	bytes   [256]int32     // ids of single bytes, -1 where there are none
}

type spFile struct {
	header
	Model []byte `json:"model"` // the whole of the model's file
}

func (t *spTokenizer) Marshal() ([]byte, error) {
	return encodeFile(spFile{newHeader(kindSentencePiece), t.model})
}

const maxPieceBytes = 1024 // the ways to divide a piece are searched, which takes time by the square

const spSpace = "\u2581" // a space, in pieces

// newSentencePiece reads a model's file.
func newSentencePiece(file []byte) (Tokenizer, error) {
	m, err := parseModel(file)
	if err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	t := &spTokenizer{model: file, symbols: map[rune]int32{}, strange: int32(len(m.pieces))}
	for i := range t.bytes {
		t.bytes[i] = -1
	}
	v := vocabulary{kind: kindSentencePiece, pretokens: pretokens{split: splitSpaces}, word: t.encodeWord, separator: -1}
	spelled := map[string]int32{}
	for id, p := range m.pieces {
		if err := t.addPiece(&v, spelled, int32(id), p, m.byteFallback); err != nil {
			return nil, fmt.Errorf("pieces[%d], %q: %w", id, shorten(p.text), err)
		}
	}
	if m.byteFallback && slices.Contains(t.bytes[:], -1) {
		return nil, errors.New("trainer_spec.byte_fallback: true, but not every byte has a piece")
	}
	if err := checkSpecials(v.specials, v.added); err != nil {
		return nil, err
	}
	for _, text := range separators {
		if i := slices.IndexFunc(v.specials, func(s Special) bool { return s.Text == text }); i >= 0 {
			v.separator = v.specials[i].ID
			break
		}
	}
	if v.merges, err = t.rules(m.pieces, spelled); err != nil {
		return nil, err
	}
	t.bytePairs = v.build()
	return t, nil
}

// addPiece takes over one piece.
func (t *spTokenizer) addPiece(v *vocabulary, spelled map[string]int32, id int32, p spPiece, byteFallback bool) error {
	text := strings.ReplaceAll(p.text, spSpace, " ")
	switch {
	case text == "" || !utf8.ValidString(text):
		return errors.New("its text is empty or not UTF-8")
	case len(p.text) > maxPieceBytes:
		return fmt.Errorf("it has %d bytes, more than the %d allowed", len(p.text), maxPieceBytes)
	case strings.Contains(p.text, " "):
		return errors.New("it holds a space, for which pieces have U+2581: it is not supported")
	case p.kind == pieceControl:
		text = p.text
		v.specials = append(v.specials, Special{id, text})
	case p.kind == pieceUserDefined:
		v.added = append(v.added, Special{id, text})
	case p.kind == pieceByte:
		value, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(p.text, "<0x"), ">"), 16, 8)
		if err != nil || !byteFallback {
			return errors.New("it is of type BYTE, but not the name of one (<0x00> to <0xFF>), or trainer_spec.byte_fallback is false")
		}
		t.bytes[value], text = id, string([]byte{byte(value)})
	case p.kind == pieceNormal:
		if _, twice := spelled[text]; twice {
			return errors.New("it is there twice")
		}
		inside := placesInside(text)
		if splitSpaces([]byte(text)) < len(text) || inside&anyKinds != 0 {
			return errors.New("a piece with a space or line break inside, where texts are divided, is not supported (trainer_spec.split_by_whitespace: false)")
		}
		v.inside |= inside
		spelled[text] = id
	case p.kind != pieceUnknown && p.kind != pieceUnused:
		return fmt.Errorf("type %d is not known", p.kind)
	}
	v.tokens = append(v.tokens, []byte(text))
	return nil
}

// splitSpaces is the splitter of models whose pieces have spaces at their start only.
func splitSpaces(text []byte) int {
	for i := 1; i < len(text); i++ {
		if text[i] == ' ' && text[i-1] != ' ' {
			return i
		}
	}
	return len(text)
}

// spRule is a pair that becomes a piece, by the piece's score.
type spRule struct {
	left, right, result int32
	score               float32
}

// rules finds all pairs that spell a piece: SentencePiece merges any two neighbours whose joined text is one, that of the highest score first.
// Characters of pieces that are none themselves get ids above those of tokens.
func (t *spTokenizer) rules(pieces []spPiece, spelled map[string]int32) (*mergeTable, error) {
	next := t.strange + 1
	symbols := map[string]int32{}
	for text, id := range spelled {
		symbols[text] = id
	}
	for _, p := range pieces {
		for _, char := range strings.ReplaceAll(p.text, spSpace, " ") {
			if id, known := symbols[string(char)]; known {
				t.symbols[char] = id
			} else if p.kind == pieceNormal {
				symbols[string(char)], t.symbols[char] = next, next
				next++
			}
		}
	}
	if next > 2*maxVocab {
		return nil, fmt.Errorf("pieces have %d characters that are none themselves, more than the %d allowed", next-t.strange, maxVocab)
	}
	var rules []spRule
	for id, p := range pieces {
		if p.kind != pieceNormal && p.kind != pieceUnused {
			continue
		}
		text := strings.ReplaceAll(p.text, spSpace, " ")
		for i := range text {
			left, isLeft := symbols[text[:i]]
			right, isRight := symbols[text[i:]]
			if !isLeft || !isRight {
				continue
			}
			if p.kind == pieceUnused {
				return nil, fmt.Errorf("pieces[%d], %q, is of type UNUSED, and others can merge into it: it is not supported", id, shorten(p.text))
			}
			if rules = append(rules, spRule{left, right, int32(id), p.score}); len(rules) > maxRules {
				return nil, fmt.Errorf("pieces can be made of pieces in more than the %d ways allowed", maxRules)
			}
		}
	}
	return tableOfRules(rules), nil
}

// tableOfRules orders rules by descending score; those of one score share their precedence.
func tableOfRules(rules []spRule) *mergeTable {
	slices.SortStableFunc(rules, func(a, b spRule) int { return cmp.Compare(b.score, a.score) })
	table := newMergeTable(len(rules))
	for i, r := range rules {
		table.add(r.left, r.right, r.result)
		precedence := int32(i)
		if i > 0 && r.score == rules[i-1].score {
			precedence = table.order[i-1]
		}
		table.order = append(table.order, precedence)
	}
	return table
}

// encodeWord merges the characters of a word and turns what no piece has into bytes.
func (t *spTokenizer) encodeWord(dst []int32, word []byte, room *mergeRoom) ([]int32, error) {
	start := len(dst)
	for at := 0; at < len(word); {
		char, n := utf8.DecodeRune(word[at:])
		id, known := t.symbols[char]
		if !known || char == utf8.RuneError && n == 1 {
			id = t.strange
		}
		dst = append(dst, id)
		at += n
	}
	dst = dst[:start+t.merges.apply(dst[start:], room)]
	if slices.Max(dst[start:]) < t.strange {
		return dst, nil
	}
	return t.spellStrange(dst, start, word)
}

// spellStrange replaces the ids in dst[start:] that stand for no token by those of their bytes in word.
func (t *spTokenizer) spellStrange(dst []int32, start int, word []byte) ([]int32, error) {
	symbols := slices.Clone(dst[start:])
	dst = dst[:start]
	at := 0
	for _, id := range symbols {
		if id < t.strange {
			dst = append(dst, id)
			at += len(t.token(id))
			continue
		}
		char, n := utf8.DecodeRune(word[at:])
		for _, value := range word[at : at+n] {
			if t.bytes[value] < 0 {
				return dst[:start], &unknownError{t.kind, fmt.Sprintf("%#U", char), at, "is in no piece of the model, which has none for bytes either: " +
					"use a model with byte_fallback, or replace the character"}
			}
			dst = append(dst, t.bytes[value])
		}
		at += n
	}
	return dst, nil
}
