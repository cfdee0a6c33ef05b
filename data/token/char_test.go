package token

import (
	"slices"
	"testing"
)

func newCharOf(t *testing.T, unknown string, texts ...string) Tokenizer {
	t.Helper()
	c, err := New(Config{Kind: "char", Unknown: unknown}, one(texts...), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCharIDsAscendWithCodePoints(t *testing.T) {
	c := newCharOf(t, "fail", "zé", "a🙂", "\nza")
	if got, want := mustEncode(t, c, "\naz\u00e9🙂\n"), []int32{0, 1, 2, 3, 4, 0}; !slices.Equal(got, want) {
		t.Errorf("ids %d, want %d", got, want)
	}
	if c.Vocab() != 5 {
		t.Errorf("vocabulary %d, want 5", c.Vocab())
	}
}

func TestCharNamesTheUnknownCharacter(t *testing.T) {
	c := newCharOf(t, "fail", "ab\ufffd")
	for text, parts := range map[string][]string{
		"abcab":  {"U+0063 'c'", "byte 2", "3 characters", "unknown: unk"},
		"a🙂":     {"U+1F642 '🙂'", "byte 1"},
		"ab\x00": {"U+0000", "byte 2"},
		"a\xffb": {"byte 1", "0xff", "not valid UTF-8", "invalid_utf8: replace"},
		"a\xe2":  {"byte 1", "0xe2", "not valid UTF-8"},
	} {
		dst, err := c.Encode([]int32{9}, []byte(text))
		wantError(t, err, parts...)
		if len(dst) != 1 {
			t.Errorf("%q: dst is %d after an error", text, dst)
		}
	}
	_, err := New(Config{Kind: "char", Unknown: "fail"}, one("fine", "ab\xfec"), nil)
	wantError(t, err, "text 2", "byte 2", "0xfe", "invalid_utf8: replace")
}

func TestCharUnknownID(t *testing.T) {
	c := newCharOf(t, "unk", "ab\xfe", "b")
	if c.Vocab() != 3 {
		t.Fatalf("vocabulary %d, want a, b and <unk>", c.Vocab())
	}
	ids := mustEncode(t, c, "a🙂b\xe2\x82\ufffd")
	if want := []int32{0, 2, 1, 2, 2, 2}; !slices.Equal(ids, want) {
		t.Errorf("ids %d, want %d", ids, want)
	}
	text, err := c.Decode(nil, ids...)
	if want := "a\ufffdb\ufffd\ufffd\ufffd"; err != nil || string(text) != want {
		t.Errorf("decoded %q (%v), want %q", text, err, want)
	}
}
