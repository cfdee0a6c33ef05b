package token

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Python's pickles of {"vocab_size": 7, "itos": {0: "\n", ...}, "stoi": {"\n": 0, ...}} for the characters below, by protocols 2 and 4.
const (
	sevenChars = "\n !aé東🙂"
	metaTwo    = "\x80\x02}q\x00(X\x0a\x00\x00\x00vocab_sizeq\x01K\x07X\x04\x00\x00\x00itosq\x02}q\x03(K\x00X\x01\x00\x00\x00\x0aq\x04K\x01X\x01\x00\x00\x00 q\x05K\x02X\x01\x00\x00\x00!q\x06" +
		"K\x03X\x01\x00\x00\x00aq\x07K\x04X\x02\x00\x00\x00\xc3\xa9q\x08K\x05X\x03\x00\x00\x00\xe6\x9d\xb1q\x09K\x06X\x04\x00\x00\x00\xf0\x9f\x99\x82q\x0auX\x04\x00\x00\x00stoiq\x0b}q\x0c(" +
		"h\x04K\x00h\x05K\x01h\x06K\x02h\x07K\x03h\x08K\x04h\x09K\x05h\x0aK\x06uu."
	metaFour = "\x80\x04\x95v\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x0avocab_size\x94K\x07\x8c\x04itos\x94}\x94(K\x00\x8c\x01\x0a\x94K\x01\x8c\x01 \x94K\x02\x8c\x01!\x94K\x03\x8c\x01a\x94" +
		"K\x04\x8c\x02\xc3\xa9\x94K\x05\x8c\x03\xe6\x9d\xb1\x94K\x06\x8c\x04\xf0\x9f\x99\x82\x94u\x8c\x04stoi\x94}\x94(h\x04K\x00h\x05K\x01h\x06K\x02h\x07K\x03h\x08K\x04h\x09K\x05h\x0aK\x06uu."
)

// TestMetaOfNanoGPT reads tables of characters by every protocol; testdata/meta.pkl has 1100 from U+3400 on, more than Python puts into a dict at a
// time and more than one byte counts.
func TestMetaOfNanoGPT(t *testing.T) {
	many := load(t, "meta.pkl")
	if many.Kind() != kindChar || many.Vocab() != 1100 || !slices.Equal(mustEncode(t, many, "\u3400\u3401\u384b"), []int32{0, 1, 1099}) {
		t.Errorf("%s with %d ids", many.Kind(), many.Vocab())
	}
	for protocol, file := range map[string]string{"2": metaTwo, "3": "\x80\x03" + metaTwo[2:], "4": metaFour, "5": "\x80\x05" + metaFour[2:]} {
		path := filepath.Join(t.TempDir(), "meta.pkl")
		if err := os.WriteFile(path, []byte(file), 0o666); err != nil {
			t.Fatal(err)
		}
		tokenizer, err := Load(path)
		if err != nil {
			t.Fatalf("protocol %s: %v", protocol, err)
		}
		if ids := mustEncode(t, tokenizer, sevenChars); !slices.Equal(ids, []int32{0, 1, 2, 3, 4, 5, 6}) || tokenizer.Vocab() != 7 {
			t.Errorf("protocol %s: ids %d", protocol, ids)
		}
	}
}

// TestMetaRefused has pickles of other things, and damaged ones, each named by its place.
func TestMetaRefused(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"h\x04K\x00", "cos\nsystem\n", "byte 98: instruction 0x63"},
		{"K\x07", "K\x08", "vocab_size is not the number of characters"},
		{"vocab_size", "vocab_sise", `the key "vocab_sise" is not supported`},
		{"itos", "itoz", "no dict with a dict itos"},
		{"stoi", "stoj", `the key "stoj" is not supported`},
		{"h\x04K\x00", "h\x04K\x01", `stoi has another id for "\n" than itos, which has 0`},
		{"K\x00\x8c", "K\x09\x8c", `itos[0] is "", want one character`},
		{"\x8c\x01a", "\x8c\x02ab", `itos[3] is "ab", want one character`},
		{"\xe6\x9d\xb1", "\xe6\x9d\x31", `itos[5] is "\xe6\x9d1"`},
		{"\x8c\x01!", "\x8c\x01b", `itos[3], 'a', does not come after 'b'`},
		{"h\x05", "h\xee", "byte 102: damaged"},
		{"uu.", "u", "byte 127: damaged"},
		{"uu.", "uuu.", "byte 128: damaged"},
		{"uu.", "uu.x", "ends with 1 values on its stack and 1 bytes behind it"},
		{"h\x04K\x00", "}K\x00", "damaged"}, // a dict for a key
		{"h\x04K\x00", "K\x00", "damaged"},  // a key without a value
		{"}\x94(\x8c", "K\x01\x94(\x8c", "damaged"},
		{"\x8c\x04stoi", "\x8c\xffstoi", "byte 88: damaged"},
		{"}\x94(\x8c", "\x94(\x8c", "byte 11: damaged"},
		{"}\x94(\x8c", strings.Repeat("}", maxPickleStack+1) + "\x94(\x8c", "more than 16384 values"},
	} {
		file := strings.Replace(metaFour, c.old, c.new, 1)
		if file == metaFour {
			t.Fatalf("the pickle has no %q", c.old)
		}
		tokenizer, err := read([]byte(file))
		if err == nil {
			t.Errorf("%q for %q: read as %d ids", c.new, c.old, tokenizer.Vocab())
			continue
		}
		wantError(t, err, c.want)
	}
	for itos, want := range map[string]string{
		"}(K\x00\x8c\x01aK\x01\x8c\x01au":                              `itos[1], 'a', does not come after 'a'`, // two ids of one character
		"}(K\x00\x8c\x01au\x8c\x04stoi}(\x8c\x01aK\x00\x8c\x01bK\x01u": "stoi is no dict of the 1 characters in itos",
	} {
		_, err := read([]byte("\x80\x04}(\x8c\x04itos" + itos + "u."))
		wantError(t, err, want)
	}
	for _, file := range []string{"(u.", "K\x01s.", "K\x01" + strings.Repeat("\x94", 100) + ".", "\x94.", "u."} { // no dict below, too much remembered, nothing there
		_, err := read([]byte("\x80\x04" + file))
		wantError(t, err, "damaged: the pickle")
	}
	for end := range len(metaFour) {
		if _, err := unmarshalMeta([]byte(metaFour[:end])); err == nil {
			t.Errorf("the first %d bytes are read as a whole", end)
		}
	}
	_, err := read(append([]byte("\x80\x04"), make([]byte, maxPickle)...))
	wantError(t, err, "a pickle of more than 4 MiB")
}
