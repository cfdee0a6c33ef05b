package dataset

import (
	"errors"
	"strings"
	"testing"
	"time"

	"prenorm/data"
	"prenorm/data/corpus"
)

// TestChangedText writes to a file of the text between two passes over it: each pass that notices names the file, or, where neither size nor time
// shows which it was, those that it may be.
func TestChangedText(t *testing.T) {
	for what, c := range map[string]struct {
		change func(r *run)
		after  string // the stage at whose end the file changes
	}{
		"tokenizer": {func(r *run) {}, "reading text"},
		"encoding":  {func(r *run) { r.cfg.Tokenizer.Kind = "byte" }, "reading text"},
		"starts":    {func(r *run) { r.cfg.Tokenizer.Kind, r.cfg.Packing = "char", "documents" }, "encoding training text"},
		"tokens": {func(r *run) {
			r.cfg = data.Default()
			r.cfg.Tokenizer.Kind, r.cfg.Val.Fraction = "byte", 0.5
			r.cfg.Train = []string{"text/a.bin", "text/b.bin"}
		}, "reading tokens of the validation text"},
	} {
		t.Run(what, func(t *testing.T) {
			for _, silent := range []bool{false, true} {
				r := newRun(t)
				file, other := "text/a.txt", strings.ReplaceAll(words(3000), "norm", "mron") // as long
				if what == "tokens" {
					file = "text/a.bin"
					write(t, "text/a.bin", strings.Repeat("a\x00", 1500))
					write(t, "text/b.bin", strings.Repeat("b\x00", 1500))
					other = strings.Repeat("c\x00", 1500)
				}
				c.change(r)
				change := func() {
					write(t, file, other)
					if !silent {
						date(t, file, old.Add(time.Second))
					}
				}
				done := false
				r.opt.Progress = func(stage string, n, total int64) {
					if stage == c.after && n == total && !done {
						done = true
						change()
					}
				}
				_, err := Open(r.cfg, r.opt)
				want := file + ": the text changed"
				if silent {
					want = "one of " + file + " (and 1 file more): the text changed"
				}
				if !errors.Is(err, corpus.ErrChanged) || strings.TrimPrefix(err.Error(), "tokenizer bpe: ") != want+" while it was being read: start again when nothing writes to it" {
					t.Errorf("silent %v: %v", silent, err)
				}
			}
		})
	}
}
