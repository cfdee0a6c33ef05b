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
			err := EncodeReader(tokenizer.Encode, PlacesOf(tokenizer), iotest.HalfReader(bytes.NewReader(text)), func(ids []int32) error {
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

// TestReaderFindsSpecials has texts of nothing but special and added tokens, and words between them, of every length: wherever a text is divided, their
// ids are those of the whole. Tokens that a text may be divided inside are refused.
func TestReaderFindsSpecials(t *testing.T) {
	file := func(special, added string) (Tokenizer, error) {
		f := pairsFile{Pattern: "gpt2", Separator: -1, Special: []int32{256}, Added: []int32{257}, Merges: [][]int32{}}
		for value := range 256 {
			f.Tokens = append(f.Tokens, []byte{byte(value)})
		}
		f.Tokens = append(f.Tokens, []byte(special), []byte(added))
		return newPairs(f)
	}
	for _, tokens := range [][2]string{{"<|end|>", "<br>"}, {"\n\n", " \n"}, {" <a>", "\n<a>"}, {"!\n!", "  x"}, {" ", "\n"}, {"<|a b|>", "x"}, {"x", "a\nb"},
		{"<|end|> ", "x"}, {"\xa9\n", "x"}, {"x", "\xa9 "}, {"1\n", "x"}} {
		tokenizer, err := file(tokens[0], tokens[1])
		divided := false
		for _, token := range tokens {
			for _, before := range []string{"", "\xc3"} { // with which \xa9 is a letter
				for i := len(before) + 1; i < len(before+token); i++ {
					divided = divided || placesAt([]byte(before+token), i)&anyKinds != 0
				}
			}
		}
		if divided {
			wantError(t, err, "token 25", "holds a space or line break inside")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		encode := tokenizer.(WithSpecials).EncodeSpecials
		for shift := range 12 {
			text := []byte(strings.Repeat("x", shift) + strings.Repeat(tokens[0]+"a 1\n"+tokens[1], 60_000))
			want, err := encode(nil, text)
			if err != nil {
				t.Fatal(err)
			}
			var got []int32
			err = EncodeReader(encode, PlacesOf(tokenizer), bytes.NewReader(text), func(ids []int32) error {
				got = append(got, ids...)
				return nil
			})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%q, %d letters before: other ids (%v)", tokens, shift, err)
			}
		}
	}
	_, err := Train(Training{Vocab: 300, Pattern: "gpt2", Bytes: BytesByValue, Specials: []string{"<|a b|>"}}, func(func([]byte, error) bool) {
		t.Error("text is read before the special tokens are looked at")
	}, nil)
	wantError(t, err, `"<|a b|>", holds a space`)
}

func TestReaderTellsErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	never := func([]int32) error { return nil }
	encode := byteTokenizer{}.Encode
	if err := EncodeReader(encode, anyKinds, iotest.ErrReader(broken), never); !errors.Is(err, broken) {
		t.Errorf("the reader's error became %v", err)
	}
	if err := EncodeReader(encode, anyKinds, strings.NewReader("text"), func([]int32) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("emit's error became %v", err)
	}
	char := buildAll(t)["char-fail"]
	var text io.Reader = io.MultiReader(strings.NewReader(strings.Repeat("the cat ", 50_000)), strings.NewReader("the жuk"))
	wantError(t, EncodeReader(char.Encode, PlacesOf(char), text, never), "tokenizer char: U+0436 'ж' at byte 400004 is not")
	text = strings.NewReader(strings.Repeat("the cat ", 50_000) + "the \xff")
	wantError(t, EncodeReader(char.Encode, PlacesOf(char), text, never), "tokenizer char: 0xff at byte 400004 is not valid UTF-8")
	pieces := load(t, "nofallback.model")
	text = strings.NewReader(strings.Repeat("the of ", 50_000) + "the ♥")
	wantError(t, EncodeReader(pieces.Encode, PlacesOf(pieces), text, never), "U+2665 '♥' at byte 350004 is in no piece")
	fails := func(dst []int32, text []byte) ([]int32, error) {
		if bytes.Contains(text, []byte("dog")) {
			return dst, broken
		}
		return dst, nil
	}
	wantError(t, EncodeReader(fails, anyKinds, strings.NewReader(strings.Repeat("the cat ", 50_000)+"dog"), never), "in the part from byte 262147 on: disk on fire")
}
