package token

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"prenorm/data/token/varied"
)

// TestReaderGivesTheIDsOfTheWhole has every kind read texts that are divided, that cannot be, and that come in small portions.
func TestReaderGivesTheIDsOfTheWhole(t *testing.T) {
	texts := [][]byte{nil, []byte("a"), varied.Text(3, 300_000), bytes.Repeat([]byte("the"), 120_000), []byte(strings.Repeat(sample, 2500))}
	for name, tokenizer := range buildAll(t) {
		for i, text := range texts {
			if !expressible(tokenizer.Kind(), string(text)) {
				continue
			}
			want := mustEncode(t, tokenizer, string(text))
			var got []int32
			largest := 0
			err := EncodeReader(tokenizer.Encode, iotest.HalfReader(bytes.NewReader(text)), func(ids []int32) error {
				got = append(got, ids...)
				largest = max(largest, len(ids))
				return nil
			})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: text %d: other ids (%v)", name, i, err)
			}
			if i == len(texts)-1 && largest > 2*readPiece {
				t.Errorf("%s: %d ids at a time", name, largest)
			}
		}
	}
}

func TestReaderTellsErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	never := func([]int32) error { return nil }
	encode := byteTokenizer{}.Encode
	if err := EncodeReader(encode, iotest.ErrReader(broken), never); !errors.Is(err, broken) {
		t.Errorf("the reader's error became %v", err)
	}
	if err := EncodeReader(encode, strings.NewReader("text"), func([]int32) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("emit's error became %v", err)
	}
	char := buildAll(t)["char-fail"]
	text := io.MultiReader(strings.NewReader(strings.Repeat("the cat ", 50_000)), strings.NewReader("the жuk"))
	wantError(t, EncodeReader(char.Encode, text, never), "in the part from byte", "U+0436")
}
