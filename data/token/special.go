package token

import (
	"bytes"
	"fmt"
	"slices"
)

// Special is a token that stands for no text of its own, such as the separator of documents.
type Special struct {
	ID   int32
	Text string // what it decodes to
}

// WithSpecials is a tokenizer that has special tokens. [Tokenizer.Encode] takes their text for ordinary characters, so that no text of a
// corpus can bring them in.
type WithSpecials interface {
	Tokenizer
	// Specials lists the special tokens by id, the separator among them.
	Specials() []Special
	// EncodeSpecials is Encode, but the text of a special token becomes its id.
	EncodeSpecials(dst []int32, text []byte) ([]int32, error)
}

// maxSpecialBytes bounds the text of a special token.
const maxSpecialBytes = 4096

// checkSpecials refuses special tokens, and added ones, that cannot be told from other text or from one another, and those that a long text may be
// divided inside by whatever kind (see [Places]), as their text would then not be found.
func checkSpecials(specials, added []Special) error {
	seen := map[string]bool{}
	for i, s := range slices.Concat(specials, added) {
		which := "special"
		if i >= len(specials) {
			which = "added"
		}
		switch {
		case s.Text == "":
			return fmt.Errorf("%s token %d has no text", which, s.ID)
		case len(s.Text) > maxSpecialBytes:
			return fmt.Errorf("%s token %d has %d bytes, more than the %d allowed", which, s.ID, len(s.Text), maxSpecialBytes)
		case seen[s.Text]:
			return fmt.Errorf("%s token %d, %q, is given twice", which, s.ID, shorten(s.Text))
		case placesInside(s.Text)&anyKinds != 0:
			return fmt.Errorf("%s token %d, %q, holds a space or line break inside, where long texts are divided: it is not supported", which, s.ID, shorten(s.Text))
		}
		seen[s.Text] = true
	}
	return nil
}

// matcher finds tokens by their text: the leftmost, and of those at one place the longest.
type matcher struct {
	byFirst [256][]Special // by the first byte, longest first
}

// newMatcher returns nil, which finds nothing, for no tokens.
func newMatcher(tokens []Special) *matcher {
	if len(tokens) == 0 {
		return nil
	}
	m := &matcher{}
	for _, t := range tokens {
		m.byFirst[t.Text[0]] = append(m.byFirst[t.Text[0]], t)
	}
	for first := range m.byFirst {
		slices.SortStableFunc(m.byFirst[first], func(a, b Special) int { return len(b.Text) - len(a.Text) })
	}
	return m
}

// next returns the first token in text[at:], or the empty range at the end of text where there is none.
func (m *matcher) next(text []byte, at int) (start, end int, id int32) {
	if m == nil {
		return len(text), len(text), 0
	}
	for ; at < len(text); at++ {
		if t, found := m.match(text[at:]); found {
			return at, at + len(t.Text), t.ID
		}
	}
	return at, at, 0
}

// match returns the longest token that text, which is not empty, begins with.
func (m *matcher) match(text []byte) (Special, bool) {
	for _, t := range m.byFirst[text[0]] {
		if len(t.Text) <= len(text) && bytes.Equal([]byte(t.Text), text[:len(t.Text)]) {
			return t, true
		}
	}
	return Special{}, false
}
