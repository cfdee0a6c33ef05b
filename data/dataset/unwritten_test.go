package dataset

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"prenorm/data"
	"prenorm/data/token"
)

// TestUnwritten asks what has no shard yet before a text is prepared and behind it, and as files, settings and text change. Nothing is written, and no text
// is read.
func TestUnwritten(t *testing.T) {
	r := newRun(t)
	all := int64(len(words(3000)) + len(words(2000)) + len(words(900)))
	want := func(what string, bytes int64) {
		t.Helper()
		if got := Unwritten(r.cfg, Options{Dir: r.opt.Dir}); got != bytes {
			t.Errorf("%s: %d bytes, want %d", what, got, bytes)
		}
	}
	want("nothing is prepared", all)
	if _, err := os.Stat(r.opt.Dir); !os.IsNotExist(err) {
		t.Errorf("asking made the folder: %v", err)
	}
	d, err := Open(r.cfg, r.opt)
	if err != nil {
		t.Fatal(err)
	}
	stats := d.Stats
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	want("all is prepared", 0)
	if got := Unwritten(r.cfg, Options{Dir: r.opt.Dir, Tokenizer: d.Tokenizer}); got != 0 {
		t.Errorf("with its tokenizer: %d bytes", got)
	}
	other, err := token.Open("gpt2")
	if err != nil {
		t.Fatal(err)
	}
	if got := Unwritten(r.cfg, Options{Dir: r.opt.Dir, Tokenizer: other}); got != all {
		t.Errorf("with another tokenizer: %d bytes, want %d", got, all)
	}
	vocab := r.cfg.Tokenizer.Vocab
	r.cfg.Tokenizer.Vocab--
	want("the tokenizer is to be trained", all)
	r.cfg.Tokenizer.Vocab = vocab

	one := r.cfg
	one.Train = []string{filepath.Join("text", "a.txt")}
	if got, size := Unwritten(one, r.opt), int64(len(words(3000))+len(words(900))); got != size {
		t.Errorf("another text: %d bytes, want %d", got, size)
	}
	standard := r.cfg
	standard.Train = []string{"-"}
	if got, size := Unwritten(standard, r.opt), int64(len(words(900))); got != size {
		t.Errorf("standard input: %d bytes, want %d", got, size)
	}
	sources := r.cfg
	sources.Train, sources.Val.Files = nil, nil
	sources.Sources = []data.Source{{Name: "a", Weight: 1, Train: r.cfg.Train, Val: r.cfg.Val.Files}, {Name: "b", Weight: 1, Train: one.Train, Val: r.cfg.Val.Files}}
	if got, size := Unwritten(sources, Options{Dir: r.opt.Dir, Tokenizer: d.Tokenizer}), int64(len(words(3000))+len(words(900))); got != size {
		t.Errorf("the second source: %d bytes, want %d", got, size)
	}

	for _, path := range glob(t, filepath.Join(r.opt.Dir, "val-*.tokens")) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	want("the validation shard is gone", stats.Val.Bytes)
	date(t, filepath.Join("text", "a.txt"), time.Now())
	want("a file has changed", all)
	if err := os.Remove("val.txt"); err != nil {
		t.Fatal(err)
	}
	want("a file is gone", all-int64(len(words(900))))
}

// TestUnwrittenIDs asks the same of another program's token files.
func TestUnwrittenIDs(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "train.bin", string(make([]byte, 2000)))
	write(t, "val.bin", string(make([]byte, 200)))
	cfg := data.Default()
	cfg.Train, cfg.Val.Files, cfg.Tokenizer.Kind = []string{"train.bin"}, []string{"val.bin"}, "gpt2"
	opt := Options{Dir: "run"}
	if got := Unwritten(cfg, opt); got != 2200 {
		t.Errorf("nothing is prepared: %d bytes", got)
	}
	d, err := Open(cfg, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if got := Unwritten(cfg, opt); got != 0 {
		t.Errorf("all is prepared: %d bytes", got)
	}
}
