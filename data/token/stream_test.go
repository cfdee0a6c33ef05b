package token

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStreamHoldsBackUnfinishedCharacters(t *testing.T) {
	for text, want := range map[string][]string{
		"aé":           {"a", "", "é", ""},
		"🙂b":           {"", "", "", "🙂", "b", ""},
		"\xe2\x82a":    {"", "", "\xe2\x82a", ""},    // the start of a character that does not go on
		"\xe2\xc3\xa9": {"", "\xe2", "é", ""},        // another one begins
		"\x80\xff":     {"\x80", "\xff", ""},         // never part of a character
		"\xe0\x80\x80": {"", "\xe0\x80", "\x80", ""}, // too long an encoding
		"\xed\xa0\x80": {"", "\xed\xa0", "\x80", ""}, // half of a surrogate pair
		"\xf0\x9f\x99": {"", "", "", "\xf0\x9f\x99"}, // the end comes first
		"\xf4\x90\x80": {"", "\xf4\x90", "\x80", ""}, // beyond U+10FFFF
		"\xf0\x9f\xc3": {"", "", "\xf0\x9f", "\xc3"}, // one start behind another, then the end
		"\xc0\xaf":     {"\xc0", "\xaf", ""},         // 0xc0 begins no character
		"é\xc3":        {"", "é", "", "\xc3"},        //
		"\xc3\xc3\xa9": {"", "\xc3", "\u00e9", ""},   //
		"":             {""},                         //
		"\ufffd!":      {"", "", "\ufffd", "!", ""},  // a true U+FFFD
		"\xf1\x80\x80": {"", "", "", "\xf1\x80\x80"}, //
		"\xf8\x88":     {"\xf8", "\x88", ""},         // five-byte encodings are long gone
		"a\xe2\x82":    {"a", "", "", "\xe2\x82"},    //
		"\xe2\x82\xe2": {"", "", "\xe2\x82", "\xe2"}, //
		"\xe2\x82\xac": {"", "", "€", ""},            //
		"\xe2\x28\xa1": {"", "\xe2\x28", "\xa1", ""}, //
		"\xf0\x28\x8c": {"", "\xf0\x28", "\x8c", ""}, //
		"\xf0\x90\x28": {"", "", "\xf0\x90\x28", ""}, //
		"\xee\x80\x80": {"", "", "\ue000", ""},       // private use
		"\xf0\x8f\xbf": {"", "\xf0\x8f", "\xbf", ""}, // too long an encoding
		"\xe2\x82\xff": {"", "", "\xe2\x82\xff", ""}, //
		"\xc3":         {"", "\xc3"},                 //
		"\xc3(\xc3":    {"", "\xc3(", "", "\xc3"},    //
		"é":            {"", "é", ""},                //
		"\x00":         {"\x00", ""},                 //
	} {
		stream := NewStream(byteTokenizer{})
		var got []string
		for _, b := range []byte(text) {
			ready, err := stream.Write(int32(b))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(ready))
		}
		got = append(got, string(stream.Flush()))
		if !slices.Equal(got, want) {
			t.Errorf("%q comes out as %q, want %q", text, got, want)
		}
		if again := stream.Flush(); len(again) != 0 {
			t.Errorf("%q: a second Flush gives %q", text, again)
		}
	}
}

func TestStreamOfEveryKindLosesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	for name, tokenizer := range buildAll(t) {
		for range 100 {
			text := randomText(r, tokenizer.Kind() != kindChar)
			valid := utf8.ValidString(text)
			var got strings.Builder
			stream := NewStream(tokenizer)
			for _, id := range mustEncode(t, tokenizer, text) {
				ready, err := stream.Write(id)
				if err != nil {
					t.Fatal(err)
				}
				if valid && !utf8.Valid(ready) {
					t.Fatalf("%s: %q in pieces, one of them %q", name, text, ready)
				}
				got.Write(ready)
			}
			got.Write(stream.Flush())
			if got.String() != text {
				t.Fatalf("%s: %q streams as %q", name, text, got.String())
			}
		}
	}
}

func TestStreamSurvivesAForeignID(t *testing.T) {
	stream := NewStream(byteTokenizer{})
	if _, err := stream.Write(0xc3); err != nil {
		t.Fatal(err)
	}
	_, err := stream.Write(256)
	wantError(t, err, "256", "outside the vocabulary")
	if ready, err := stream.Write(0xa9); err != nil || string(ready) != "é" {
		t.Errorf("after an error %q (%v), want what was held back and its end", ready, err)
	}
}
