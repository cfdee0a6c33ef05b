package token

import (
	"slices"
	"strings"
	"testing"

	"prenorm/configs/problem/problemtest"
)

func FuzzUnmarshal(f *testing.F) {
	for _, tokenizer := range buildAll(f) {
		file, err := tokenizer.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	f.Add([]byte(`{"format":"prenorm-tokenizer","version":1,"kind":"bpe","merges":[[97,98],[256,256]]}`))
	f.Add([]byte(`{"format":"prenorm-tokenizer","version":1,"kind":"bpe","merges":null}`))
	f.Add([]byte(`{"format":"prenorm-tokenizer","version":1,"kind":"char","unknown":"unk","alphabet":[97,1114111]}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		var tokenizer Tokenizer
		var err error
		problemtest.Bounded(t, len(file), 1000, func() { tokenizer, err = Unmarshal(file) })
		if err != nil {
			problemtest.Says(t, err, "tokenizer file")
			return
		}
		acceptedWritesItself(t, file)
		ids, err := tokenizer.Encode(nil, []byte("abab a\xff"))
		if err != nil && tokenizer.Kind() != kindChar {
			t.Fatal(err)
		}
		if _, err := tokenizer.Decode(nil, ids...); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzRead reads other programs' files. What is accepted must write itself, encode anything, and give the text back.
func FuzzRead(f *testing.F) {
	f.Add(smallModel())
	f.Add(smallModel(piece("x", 0, pieceUnused), section(3, 3, 1)))
	file, err := MarshalHF(buildAll(f)[kindPairs])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Add([]byte(metaTwo))
	f.Add([]byte(metaFour))
	f.Fuzz(func(t *testing.T, file []byte) {
		tokenizer, err := read(file)
		if err != nil {
			return
		}
		written, err := tokenizer.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Unmarshal(written)
		if err != nil {
			t.Fatal(err)
		}
		const text = "the  cat's\n\n東\xff ab1234"
		ids, err := tokenizer.Encode(nil, []byte(text))
		if err != nil {
			return
		}
		if other, err := again.Encode(nil, []byte(text)); err != nil || !slices.Equal(ids, other) {
			t.Fatalf("ids %d, written and read back %d (%v)", ids, other, err)
		}
		if back, err := tokenizer.Decode(nil, ids...); err != nil || string(back) != text && tokenizer.Kind() != kindChar {
			t.Fatalf("%q (%v)", back, err)
		}
	})
}

func FuzzPretoken(f *testing.F) {
	for _, text := range []string{sample, "", "'", " ", "  a", "a\n \n", "I'll've", "\xff \xe2\x82", "\u00a0\u2028x", "½ⅷ९"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for rest := text; rest != ""; {
			n := splitGPT2([]byte(rest))
			if want := directPretoken(rest); rest[:n] != want {
				t.Fatalf("first pre-token of %q is %q, want %q", rest, rest[:n], want)
			}
			rest = rest[n:]
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	built := buildAll(f)
	for _, text := range []string{sample, "", "\xff\xfe\x00", "<|endoftext|>", strings.Repeat("a", 500), "\u2028\ufffd\U0010ffff"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, tokenizer := range built {
			ids, err := tokenizer.Encode(nil, text)
			if name == "char-fail" && err != nil && !expressible(kindChar, string(text)) {
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			back, err := tokenizer.Decode(nil, ids...)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if string(back) != string(text) && (name != "char-unk" || expressible(kindChar, string(text))) {
				t.Fatalf("%s: %q became %q", name, text, back)
			}
		}
	})
}
