package survey

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"prenorm/data"
	"prenorm/data/baseline"
	"prenorm/data/corpus"
	"prenorm/data/dataset"
	"prenorm/data/shard"
	"prenorm/data/token"
)

// exported writes the tokens of train.jsonl and val.jsonl as token files of other programs.
func exported(t *testing.T, kind, format string) {
	t.Helper()
	cfg := data.Default()
	cfg.Train, cfg.Val.Files, cfg.Tokenizer.Kind = []string{"train.jsonl"}, []string{"val.jsonl"}, kind
	d, err := dataset.Open(cfg, dataset.Options{Dir: "data"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	onward := func() error { return nil }
	if err := errors.Join(shard.WriteForeign("train.bin", format, d.Train, onward), shard.WriteForeign("val.bin", format, d.Val, onward)); err != nil {
		t.Fatal(err)
	}
}

func ofText(kind string) func(*data.Config) {
	return func(c *data.Config) {
		c.Train, c.Val.Files, c.Tokenizer.Kind = []string{"train.jsonl"}, []string{"val.jsonl"}, kind
	}
}

func ofIDs(kind string) func(*data.Config) {
	return func(c *data.Config) {
		c.Train, c.Val.Files, c.Tokenizer.Kind = []string{"train.bin"}, []string{"val.bin"}, kind
	}
}

// TestTokenFiles wants the ids of a text to be told of as the text is, with documents that are longer than what is decoded at once, and characters
// that are parted by it.
func TestTokenFiles(t *testing.T) {
	defer func(block, most int) { idsBlock, stretch = block, most }(idsBlock, stretch)
	train := rows(tale(1, 200), "日本語のテキスト"+strings.Repeat("мир 🙂 é ", 300), tale(2, 60), tale(1, 200), "short")
	put(t, map[string]string{"train.jsonl": train, "val.jsonl": rows(tale(2, 60), tale(3, 90), strings.Repeat("日本", 90))})
	want := run(t, ofText("gpt2"))
	exported(t, "gpt2", shard.LLMC)
	for _, sizes := range [][2]int{{1 << 16, 1 << 20}, {7, 50}, {1, 1}, {64, 3}} {
		idsBlock, stretch = sizes[0], sizes[1]
		got := run(t, ofIDs("gpt2"))
		if !got.TokenFiles || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "what the token ids stand for") {
			t.Errorf("%v: %v", got.TokenFiles, got.Notes)
		}
		if d := got.Copies.List; len(d) != 2 || d[1].Document[:len("training ids from ")] != "training ids from " || d[1].Of != "training ids from 0" {
			t.Errorf("copies %v", d)
		}
		got.TokenFiles, got.Overlap.List, want.Overlap.List = false, nil, nil
		a, b := got.Part, want.Part
		a.Copies.List, b.Copies.List = nil, nil
		if a.Odd != (OddRead{}) { // there are no files of text
			t.Errorf("%+v", a.Odd)
		}
		b.Odd = a.Odd
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("blocks of %d ids, stretches of %d bytes: %+v\nthe text: %+v", sizes[0], sizes[1], a, b)
		}
	}
}

// TestTokenFilesWithoutSeparator has a tokenizer that puts nothing between documents: their number is not known.
func TestTokenFilesWithoutSeparator(t *testing.T) {
	put(t, map[string]string{"train.jsonl": rows(tale(1, 50), tale(2, 50)), "val.jsonl": rows(tale(1, 30))})
	exported(t, "byte", shard.NanoGPT)
	s := run(t, ofIDs("byte"))
	if s.Train.Documents != 0 || s.Val.Documents != 0 || s.Train.Words != 99 || s.Overlap.Found != 18 || s.Train.Bytes != s.Train.Tokens || !strings.Contains(strings.Join(s.Notes, ""), "no id between documents") {
		t.Errorf("%+v, %v", s.Part, s.Notes)
	}
}

// TestUnknownTokens has ids whose tokenizer nothing names: what their numbers tell is told, and what is not known is said.
func TestUnknownTokens(t *testing.T) {
	put(t, map[string]string{"train.jsonl": rows(tale(1, 300), "x<|endoftext|>"), "val.jsonl": rows(tale(2, 90))})
	exported(t, "gpt2", shard.NanoGPT)
	known, s := run(t, ofIDs("gpt2")), run(t, ofIDs("bpe"))
	if s.Tokenizer != Unknown || s.Text || s.Vocab != 50257 || s.Train.Tokens != known.Train.Tokens || s.Val.Tokens != known.Val.Tokens || s.Lines.TrainUnigram != known.Lines.TrainUnigram ||
		s.Lines.TrainBigram != known.Lines.TrainBigram || s.Lines.Lines != known.Lines.Lines {
		t.Errorf("%+v\nknown %+v", s, known)
	}
	empty := Part{TokenFiles: true, Train: Side{Tokens: s.Train.Tokens}, Val: Side{Tokens: s.Val.Tokens}, Lines: s.Lines}
	if empty.Lines.BitsPerByte = (References{}).BitsPerByte; !reflect.DeepEqual(s.Part, empty) {
		t.Errorf("%+v, want no more than %+v", s.Part, empty)
	}
	if notes := strings.Join(s.Notes, ""); !strings.Contains(notes, "not known") || !strings.Contains(notes, "--tokenizer gpt2") || !strings.Contains(notes, "50256, is gpt2's end of text") {
		t.Error(notes)
	}
	// Two sources of which one is text want a tokenizer for it.
	cfg := data.Default()
	cfg.Sources = []data.Source{{Name: "a", Train: []string{"train.bin"}, Weight: 1}, {Name: "b", Train: []string{"train.jsonl"}, Weight: 1}}
	if ids, err := IDs(cfg, func() error { return nil }); ids != nil || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
	broken := errors.New("ended")
	if _, err := IDs(data.Config{Train: []string{"train.bin"}, Val: cfg.Val, Newlines: cfg.Newlines, NUL: cfg.NUL, Invalid: cfg.Invalid, Format: cfg.Format, Field: cfg.Field, Tokenizer: token.DefaultConfig()}, func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("not stopped: %v", err)
	}
}

// TestTokenSources has sources of text and of token files beside each other, and names documents by their source.
func TestTokenSources(t *testing.T) {
	put(t, map[string]string{"train.jsonl": rows(tale(1, 50), tale(2, 50), tale(1, 50)), "val.jsonl": rows(tale(2, 30))})
	exported(t, "gpt2", shard.NanoGPT)
	s := run(t, func(c *data.Config) {
		c.Tokenizer.Kind = "gpt2"
		c.Sources = []data.Source{{Name: "text", Train: []string{"train.jsonl"}, Val: []string{"val.jsonl"}, Weight: 1}, {Name: "ids", Train: []string{"train.bin"}, Val: []string{"val.bin"}, Weight: 1}}
	})
	a, b := s.Sources[0], s.Sources[1]
	if !reflect.DeepEqual(b.CopiesOf, []Between{{Exact: 3, Bytes: b.Train.Bytes + b.Val.Bytes - b.Copies.Bytes}, {}}) || a.Odd.NUL.Rule != "keep" || b.Odd.NUL.Rule != "" {
		t.Errorf("%+v\n%+v", a, b)
	}
	a.Odd = b.Odd
	if b.TokenFiles = false; !reflect.DeepEqual(a.Part, b.Part) || fmt.Sprint(a.FoundIn, b.FoundIn) != "[18 18] [18 18]" || s.TokenFiles || !s.Text {
		t.Errorf("%+v\n%+v", a, b)
	}
	if l := s.Copies.List; len(l) != 2 || l[1].Of != "ids training ids from 0" || len(s.Notes) != 1 || !strings.HasPrefix(s.Notes[0], "ids: ") {
		t.Errorf("%v, %v", l, s.Notes)
	}
}

// TestEnough ends the reading of decoded documents wherever it is enough.
func TestEnough(t *testing.T) {
	defer func(block, most int) { idsBlock, stretch = block, most }(idsBlock, stretch)
	idsBlock, stretch = 5, 4
	gpt2, err := token.Open("gpt2")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := gpt2.Encode(nil, []byte("one two three four five six seven"))
	if err != nil {
		t.Fatal(err)
	}
	ids = append(append(ids, gpt2.Separator()), ids...)
	all := &decoded{ids: [2]baseline.Tokens{held(ids), held(ids)}, tokenizer: gpt2, stop: func() error { return nil }}
	count := 0
	for range all.Documents(corpus.Train) {
		count++
	}
	for most := 1; most <= count; most++ {
		n := 0
		for _, err := range all.Documents(corpus.Train) {
			if n++; err != nil || n == most {
				break
			}
		}
		if n != most {
			t.Errorf("%d of %d", n, most)
		}
	}
	ended := errors.New("ended")
	all.stop = func() error { return ended }
	for _, err := range all.Documents(corpus.Val) {
		if !errors.Is(err, ended) {
			t.Errorf("not stopped: %v", err)
		}
	}
	if _, err := all.Copies(true, func(corpus.Copied) {}, nil); !errors.Is(err, ended) {
		t.Errorf("not stopped: %v", err)
	}
}

// held is ids in memory.
type held []int32

func (h held) Len() int64 { return int64(len(h)) }

func (h held) Read(dst []int32, off int64) error {
	if n := copy(dst, h[off:]); n < len(dst) {
		return errors.New("not there")
	}
	return nil
}
