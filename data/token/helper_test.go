package token

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// sample has every class of character, contractions, runs of white space and characters of one to four bytes.
const sample = "The cat's hat isn't there; they're 42 or 1234!  \n\n\tNaïve café — 東京へ行く, ½ of ⅷ.\r\n" +
	"the cat sat on the mat, the hat on the cat   \u00a0and  <|endoftext|> 🙂🙃 we've I'll I'd I'm don't ''s\n"

// one is a corpus of the given texts.
func one(texts ...string) Texts {
	return func(yield func([]byte, error) bool) {
		for _, text := range texts {
			if !yield([]byte(text), nil) {
				return
			}
		}
	}
}

// buildAll makes a tokenizer of every kind from sample, char in both its modes.
func buildAll(t testing.TB) map[string]Tokenizer {
	t.Helper()
	built := map[string]Tokenizer{}
	for _, kind := range Kinds() {
		for _, unknown := range []string{"fail", "unk"} {
			name := kind
			if kind == kindChar {
				name += "-" + unknown
			}
			cfg := Config{Kind: kind, Vocab: 300, Unknown: unknown}
			tokenizer, err := New(cfg, one(strings.Repeat(sample, 3)), nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			built[name] = tokenizer
		}
	}
	for kind, build := range fromFiles {
		tokenizer, err := build()
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		built[kind] = tokenizer
	}
	return built
}

// fromFiles makes a small tokenizer of every kind that only files have.
var fromFiles = map[string]func() (Tokenizer, error){
	kindPairs: func() (Tokenizer, error) {
		o := Training{Vocab: 290, Pattern: "o200k", Bytes: BytesAsGPT2, Specials: []string{"<|user|>"}}
		return Train(o, one(strings.Repeat(sample, 3)), nil)
	},
	kindSentencePiece: func() (Tokenizer, error) { return newSentencePiece(smallModel()) },
}

// smallModel is a SentencePiece model of all bytes and a few pieces, the later ones of lower scores.
func smallModel(more ...[]byte) []byte {
	model := piece("<unk>", 0, pieceUnknown)
	model = append(model, piece(endOfText, 0, pieceControl)...)
	model = append(model, piece("\n\n", 0, pieceUserDefined)...)
	for value := range 256 {
		model = append(model, piece(fmt.Sprintf("<0x%02X>", value), 0, pieceByte)...)
	}
	for i, text := range strings.Fields("▁ t h e a c he ▁t ▁the ▁c at 東 京 東京 é ▁▁") {
		model = append(model, piece(text, -float32(i), pieceNormal)...)
	}
	model = append(model, section(2, 3, 2, 35, 1)...)
	model = append(model, section(3, 3, 0, 4, 0)...)
	return append(model, bytes.Join(more, nil)...)
}

func piece(text string, score float32, kind uint64) []byte {
	b := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), text)
	b = protowire.AppendFixed32(protowire.AppendTag(b, 2, protowire.Fixed32Type), math.Float32bits(score))
	b = protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.VarintType), kind)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), b)
}

// section is a message in field number, of numbers: field, value, field, value.
func section(number protowire.Number, fields ...uint64) []byte {
	var b []byte
	for i := 0; i < len(fields); i += 2 {
		b = protowire.AppendVarint(protowire.AppendTag(b, protowire.Number(fields[i]), protowire.VarintType), fields[i+1])
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), b)
}

// expressible says whether kind can express text exactly: char only what the sample is made of.
func expressible(kind, text string) bool {
	if kind != kindChar {
		return true
	}
	return strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune(sample, r) || r == '\ufffd' }) < 0
}

// randomText draws pieces of sample, other characters and, where bytes is set, any bytes.
func randomText(r *rand.Rand, bytes bool) string {
	var text strings.Builder
	characters := []rune(sample)
	for range r.IntN(60) {
		switch r.IntN(6) {
		case 0:
			text.WriteString(strings.Repeat(string(characters[r.IntN(len(characters))]), 1+r.IntN(80)))
		case 1:
			if bytes {
				text.WriteByte(byte(r.IntN(256)))
			}
		case 2:
			if bytes {
				text.WriteRune(rune(r.IntN(0x11000)))
			}
		default:
			from := r.IntN(len(characters))
			text.WriteString(string(characters[from:min(len(characters), from+r.IntN(8))]))
		}
	}
	return text.String()
}

func mustEncode(t testing.TB, tokenizer Tokenizer, text string) []int32 {
	t.Helper()
	ids, err := tokenizer.Encode(nil, []byte(text))
	if err != nil {
		t.Fatalf("%s: Encode(%q): %v", tokenizer.Kind(), text, err)
	}
	return ids
}

func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}
