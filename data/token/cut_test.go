package token

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestEveryPlaceKeepsTheIDs divides texts at every place that a tokenizer has, with every kind and pattern.
func TestEveryPlaceKeepsTheIDs(t *testing.T) {
	built := buildAll(t)
	for _, pattern := range Patterns() {
		trained, err := Train(Training{Vocab: 300, Pattern: pattern, Bytes: BytesAsGPT2}, one(strings.Repeat(sample+"a!\n\n?\n'\n"+strings.Repeat("e\u0301\n", 60), 5)), nil)
		if err != nil {
			t.Fatal(err)
		}
		built[pattern+" pattern"] = trained
	}
	r := rand.New(rand.NewPCG(23, 24))
	texts := []string{sample, "a!\n b?\n\nc'\nd\n e 1\n2 \n x/\n", "é\u0301\n東\n ½\n", "東京。\n京、東\r\n1。a1\t字\u3000！\n/"}
	for range 60 {
		texts = append(texts, randomText(r, false)+"!\n", randomText(r, true)+"。\n")
	}
	for name, tokenizer := range built {
		places := PlacesOf(tokenizer)
		for _, text := range texts {
			if !expressible(tokenizer.Kind(), text) {
				continue
			}
			want := mustEncode(t, tokenizer, text)
			for i := 1; i < len(text); i++ {
				if places&placesAt([]byte(text), i) == 0 {
					continue
				}
				if got := append(mustEncode(t, tokenizer, text[:i]), mustEncode(t, tokenizer, text[i:])...); !slices.Equal(got, want) {
					t.Fatalf("%s: %q before %q gives other ids than both together", name, text[:i], text[i:])
				}
			}
		}
	}
}

// pretokenEnds are where the pre-tokens of text end, moved by offset.
func pretokenEnds(dst []int, split splitter, text []byte, offset int) []int {
	for at := 0; at < len(text); {
		at += split(text[at:])
		dst = append(dst, offset+at)
	}
	return dst
}

// TestPlacesExhaustively holds the proof at [Places] against every text of a few characters of all classes, and those that patterns name, before
// and behind a place: the pre-tokens of both parts are those of the whole, with every pattern.
func TestPlacesExhaustively(t *testing.T) {
	characters := []string{"'", "s", "L", "字", "\u0301", "1", "!", "/", " ", "\n", "\r", "\u3000", "。", "\xff"}
	most := 4
	if os.Getenv("PRENORM_SLOW") != "" {
		most = 6
	}
	found := Places(0)
	var want, got []int
	var extend func(text []byte, more int)
	extend = func(text []byte, more int) {
		for i := 1; i < len(text); i++ {
			here := placesAt(text, i) & patternPlaces
			if here == 0 {
				continue
			}
			found |= here
			for _, p := range patterns {
				want = pretokenEnds(want[:0], p.split, text, 0)
				got = pretokenEnds(pretokenEnds(got[:0], p.split, text[:i], 0), p.split, text[i:], i)
				if !slices.Equal(got, want) {
					t.Fatalf("%s, rules %b: %q and %q have pre-tokens that end at %d, together at %d", p.name, here, text[:i], text[i:], got, want)
				}
			}
		}
		for _, c := range characters[:min(more, 1)*len(characters)] {
			extend(append(text, c...), more-1)
		}
	}
	extend(make([]byte, 0, 64), most)
	if found != patternPlaces {
		t.Errorf("rules %b found no place", patternPlaces&^found)
	}
}

// TestPlacesOnRandomTexts is the same for longer texts of more characters.
func TestPlacesOnRandomTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	characters := []rune("'sS''tTrReEvVllLLmd aAzZʰ字가\u0301\u05b01٢½Ⅷ!?//. \t\n\n\r\u00a0\u3000ǅßжЖ🙂。、！「」་།ก็\u2028\u0085")
	var want, got []int
	for range 1500 {
		var b strings.Builder
		for range 1 + r.IntN(24) {
			b.WriteRune(characters[r.IntN(len(characters))])
		}
		text := []byte(b.String() + randomText(r, true))
		for _, p := range patterns {
			want = pretokenEnds(want[:0], p.split, text, 0)
			for i := 1; i < len(text); i++ {
				if placesAt(text, i)&patternPlaces == 0 {
					continue
				}
				got = pretokenEnds(pretokenEnds(got[:0], p.split, text[:i], 0), p.split, text[i:], i)
				if !slices.Equal(got, want) {
					t.Fatalf("%s: %q and %q have pre-tokens that end at %d, together at %d", p.name, text[:i], text[i:], got, want)
				}
			}
		}
	}
}

// TestTokensTakePlacesAway has added tokens that reach across places: a text is not divided there, nor where it goes on with the rest of a character.
func TestTokensTakePlacesAway(t *testing.T) {
	for token, want := range map[string]Places{
		"<br>": 0, "<|im_end|>": 0, "字。": atStop, "\n字": behindBreak, "!\n字": behindBreak, "\n/": 0, "a\t": atWhite, "a\r": atReturn, "h1": atNumber, "1a": atNumber,
		"字\xe3": patternPlaces &^ anyKinds, "a b": atSpace, "a\n": atBreak, "\xa9\n": patternPlaces &^ atSpace,
	} {
		if got := placesInside(token) & patternPlaces; got != want {
			t.Errorf("%q may be divided by rules %b, want %b", token, got, want)
		}
		if want&anyKinds != 0 {
			continue
		}
		f := pairsFile{Pattern: "o200k", Separator: -1, Special: []int32{}, Added: []int32{256}, Merges: [][]int32{}}
		for value := range 256 {
			f.Tokens = append(f.Tokens, []byte{byte(value)})
		}
		f.Tokens = append(f.Tokens, []byte(token))
		tokenizer, err := newPairs(f)
		if err != nil {
			t.Fatal(err)
		}
		if got := PlacesOf(tokenizer); got != patternPlaces&^want {
			t.Errorf("with token %q places %b, want all but %b", token, got, want)
		}
		text := []byte(strings.Repeat("字x"+token+"\x80\x82", 50))
		whole := mustEncode(t, tokenizer, string(text))
		for size := range len(text) {
			n := PlacesOf(tokenizer).Cut(text, size)
			if got := append(mustEncode(t, tokenizer, string(text[:n])), mustEncode(t, tokenizer, string(text[n:]))...); !slices.Equal(got, whole) {
				t.Fatalf("token %q: cut at %d gives other ids", token, n)
			}
		}
	}
	tokenizer, err := newSentencePiece(smallModel(piece("京。", -20, pieceNormal), piece("h1", -21, pieceNormal)))
	if err != nil {
		t.Fatal(err)
	}
	if got := PlacesOf(tokenizer); got != patternPlaces&^(atStop|atNumber) {
		t.Errorf("a SentencePiece model with pieces across places has %b", got)
	}
}

// TestCutWaitsForTheRestOfACharacter wants the pieces of a text that comes in stretches to be those of the whole.
func TestCutWaitsForTheRestOfACharacter(t *testing.T) {
	text := []byte("x!\n\u3000y。\n字の。字")
	for _, places := range []Places{anyKinds, patternPlaces, everyPlace} {
		for size := 1; size < len(text); size++ {
			whole := places.Cut(text, size)
			for end := size; end < len(text); end++ {
				if n := places.Cut(text[:end], size); n < end && n != whole {
					t.Errorf("of %q a piece of %d bytes ends at %d, of the whole at %d", text[:end], size, n, whole)
				}
			}
		}
	}
}
