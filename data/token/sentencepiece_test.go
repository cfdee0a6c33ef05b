package token

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestSentencePieceByHand is worked out on paper from the pieces of smallModel, whose ids of "▁" and on are 259 and on.
func TestSentencePieceByHand(t *testing.T) {
	tokenizer, err := newSentencePiece(smallModel())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]int32{
		"the":    {260, 265},                     // he before ▁t, then no piece the
		" the":   {267},                          // he, ▁t, ▁the
		"cat":    {264, 269},                     // c at
		" cat":   {268, 269},                     // at has a lower score than ▁c, and both are made
		"a  a":   {263, 274, 263},                // two spaces are a piece
		"\n\n\n": {2, 3 + 10},                    // user-defined, then a byte
		"東京京":    {272, 271},                     //
		"ü":      {3 + 0xC3, 3 + 0xBC},           // bytes
		"▁":      {3 + 0xE2, 3 + 0x96, 3 + 0x81}, // not a space
		"\xffhe": {3 + 0xFF, 265},                // invalid UTF-8
	} {
		if got := mustEncode(t, tokenizer, text); !slices.Equal(got, want) {
			t.Errorf("%q: ids %d, want %d", text, got, want)
		}
	}
	got, err := tokenizer.(WithSpecials).EncodeSpecials(nil, []byte("he"+endOfText))
	if err != nil || !slices.Equal(got, []int32{265, 1}) {
		t.Errorf("with special tokens %d (%v)", got, err)
	}
}

// TestSentencePieceTies has pieces of one score, of which the leftmost merges first, and a true U+FFFD, which invalid bytes are not.
func TestSentencePieceTies(t *testing.T) {
	tokenizer, err := newSentencePiece(smallModel(piece("ea", -30, pieceNormal), piece("ce", -30, pieceNormal), piece("\ufffd", -31, pieceNormal)))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]int32{"cea": {276, 263}, "ea": {275}, "\ufffd": {277}, "\xff": {3 + 0xFF}} {
		if got := mustEncode(t, tokenizer, text); !slices.Equal(got, want) {
			t.Errorf("%q: ids %d, want %d", text, got, want)
		}
	}
}

func TestSentencePieceRefuses(t *testing.T) {
	_, err := Load(filepath.Join("testdata", "unigram.model"))
	wantError(t, err, "unigram.model", "trainer_spec.model_type", "UNIGRAM", "want BPE")
	text := func(number protowire.Number, inside protowire.Number) []byte {
		b := protowire.AppendString(protowire.AppendTag(nil, inside, protowire.BytesType), "rules")
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), b)
	}
	for want, more := range map[string][]byte{
		"trainer_spec.model_type: CHAR":                    section(2, 3, 4),
		"trainer_spec.model_type: 9":                       section(2, 3, 9),
		"trainer_spec.byte_fallback is false":              nil,
		"normalizer_spec.add_dummy_prefix":                 section(3, 3, 1),
		"normalizer_spec.remove_extra_whitespaces":         section(3, 4, 1),
		"normalizer_spec.escape_whitespaces":               section(3, 5, 0),
		"normalizer_spec.precompiled_charsmap":             text(3, 2),
		"denormalizer_spec.precompiled_charsmap":           text(5, 2),
		"is there twice":                                   piece("he", 0, pieceNormal),
		"split_by_whitespace":                              piece("t▁h", 0, pieceNormal),
		`added token 275, "t h", holds a space`:            piece("t▁h", 0, pieceUserDefined),
		`special token 275, "t\nh", holds a space or line`: piece("t\nh", 0, pieceControl),
		"U+2581":                                 piece("t h", 0, pieceNormal),
		"empty or not UTF-8":                     piece("\xff", 0, pieceNormal),
		"type 7 is not known":                    piece("x", 0, 7),
		"not the name of one":                    piece("<0x1FF>", 0, pieceByte),
		"1100 bytes, more than the 1024 allowed": piece(strings.Repeat("x", 1100), 0, pieceNormal),
		"type UNUSED":                            piece("ath", 0, pieceUnused),
		"not a protocol buffer message":          {0x0A},
		`special token 275, "<|endoftext|>", is given twice`: piece(endOfText, 0, pieceControl),
	} {
		model := smallModel(more)
		if more == nil {
			model = smallModel(section(2, 35, 0))
		}
		_, err := newSentencePiece(model)
		wantError(t, err, want)
	}
}

// TestSentencePieceWithoutBytes cannot express every character, and says which.
func TestSentencePieceWithoutBytes(t *testing.T) {
	tokenizer := load(t, "nofallback.model")
	long := strings.Repeat("the of and ", 50)
	_, err := tokenizer.Encode(nil, []byte(long+"a ♥"))
	wantError(t, err, "tokenizer sentencepiece", "U+2665", "at byte 552", "byte_fallback")
	if back, err := tokenizer.Decode(nil, mustEncode(t, tokenizer, long)...); err != nil || string(back) != long {
		t.Errorf("the text does not come back (%v)", err)
	}
}
