package dataset

import (
	"path/filepath"
	"strings"
	"testing"

	"prenorm/data"
)

// wants has what is said of token files.
func wants(t *testing.T, said string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(said, part) {
			t.Errorf("%q lacks %q", said, part)
		}
	}
}

// TestCharactersOfNanoGPT has ids of characters, and what nanoGPT writes beside them, with gpt2 and char named.
func TestCharactersOfNanoGPT(t *testing.T) {
	r := newRun(t)
	write(t, "a.bin", uint16s(1, 2, 3, 64, 5, 6, 7, 8))
	r.cfg = data.Default()
	r.cfg.Train, r.cfg.Val.Fraction, r.cfg.Tokenizer.Kind = []string{"a.bin"}, 0.5, "gpt2"
	r.open(t)
	wants(t, strings.Join(r.notes, "\n"), "a.bin: the highest token id is 64, far below the 50257 ids of tokenizer gpt2")
	r.cfg.Tokenizer.Kind = "char"
	if _, err := Open(r.cfg, r.opt); err == nil {
		t.Error("ids are taken for text")
	} else {
		wants(t, err.Error(), "data.tokenizer.file: meta.pkl, which nanoGPT writes beside ids of characters")
	}
	r.cfg.Tokenizer.Kind = "gpt2"
	write(t, "meta.pkl", "x")
	r.notes = nil
	r.open(t)
	wants(t, strings.Join(r.notes, "\n"), "meta.pkl lies beside a.bin: nanoGPT", "tokenizer gpt2", "for characters name it (--set data.tokenizer.file=meta.pkl)")
	for _, kind := range []string{"char", "bpe"} {
		write(t, "of/meta.pkl", "x")
		write(t, "of/a.bin", uint16s(1, 2, 3, 64))
		r.cfg.Train, r.cfg.Tokenizer.Kind = []string{"of/*.bin"}, kind
		if _, err := Open(r.cfg, r.opt); err == nil {
			t.Errorf("%s: ids are taken for text", kind)
		} else {
			wants(t, err.Error(), "data.tokenizer.file: "+filepath.FromSlash("of/meta.pkl")+", which lies there")
		}
	}
}

// TestWiderIDs has ids of 4 bytes.
func TestWiderIDs(t *testing.T) {
	r := newRun(t)
	var halves []uint16
	for i := range uint16(40) {
		halves = append(halves, 100+i, 0)
	}
	write(t, "a.bin", uint16s(halves...))
	r.cfg = data.Default()
	r.cfg.Train, r.cfg.Val.Fraction, r.cfg.Tokenizer.Kind = []string{"a.bin"}, 0.5, "gpt2"
	if _, err := Open(r.cfg, r.opt); err == nil {
		t.Error("ids of 4 bytes are read as twice as many of 2")
	} else {
		wants(t, err.Error(), "a.bin: every second id is 0", "ids.astype('uint16').tofile")
	}
	halves[7] = 5
	write(t, "a.bin", uint16s(halves...))
	r.open(t)
}
