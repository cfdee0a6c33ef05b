package dataset

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prenorm/data"
	"prenorm/data/batch"
	"prenorm/data/corpus"
	"prenorm/data/shard"
	"prenorm/data/token"
)

// documentsOf decodes the documents of a text.
func documentsOf(t *testing.T, tok token.Tokenizer, text batch.Text) (list []string) {
	t.Helper()
	starts := make([]int64, text.Starts.Len())
	if err := text.Starts.Read(starts, 0); err != nil {
		t.Fatal(err)
	}
	for i, start := range starts {
		end := text.Len()
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		ids := make([]int32, end-start)
		if err := text.Read(ids, start); err != nil {
			t.Fatal(err)
		}
		if i > 0 && text.Separated {
			if ids[0] != tok.Separator() {
				t.Errorf("document %d begins with id %d, want the separator", i, ids[0])
			}
			ids = ids[1:]
		}
		s, err := tok.Decode(nil, ids...)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(s))
	}
	return list
}

// TestStartsAreThoseOfDocuments wants the documents to be found again, with tokenizers that have a separator and without, at first and later,
// and after damage.
func TestStartsAreThoseOfDocuments(t *testing.T) {
	for _, kind := range []string{"bpe", "byte", "char"} {
		r := newRun(t)
		r.cfg.Tokenizer.Kind, r.cfg.Packing = kind, "documents"
		var want []string
		for _, name := range []string{"text/a.txt", "text/b.txt", "text/c.txt"} {
			text := words(700 + 1900*len(want))
			write(t, name, text)
			want = append(want, text)
		}
		for i := range 3 {
			d, err := Open(r.cfg, r.opt)
			if err != nil {
				t.Fatal(err)
			}
			if have := documentsOf(t, d.Tokenizer, d.Sources[0].Text(corpus.Train)); !slices.Equal(have, want) {
				t.Errorf("%s, opened %d times: documents are %.200q", kind, i+1, have)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			if i == 1 {
				for _, path := range glob(t, "run/train-*.starts") {
					write(t, path, "damaged")
				}
			}
		}
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %v, %v", pattern, paths, err)
	}
	return paths
}

// TestSeveralSources wants each source's own tokens, one tokenizer of the training texts of all, and shards that are found again.
func TestSeveralSources(t *testing.T) {
	r := newRun(t)
	write(t, "rows.jsonl", `{"body": "first of all"}`+"\n"+`{"body": "second of all"}`+"\n")
	write(t, "rows-val.jsonl", `{"body": "a third row"}`+"\n")
	r.cfg.Train, r.cfg.Val.Files = nil, nil
	r.cfg.Sources = []data.Source{{Name: "text", Train: []string{"text"}, Val: []string{"val.txt"}, Weight: 1},
		{Name: "rows", Train: []string{"rows.jsonl"}, Val: []string{"rows-val.jsonl"}, Weight: 1, Field: "body"}}
	r.cfg.Cross = false
	var before string
	for i := range 2 {
		r.stages = nil
		d, err := Open(r.cfg, r.opt)
		if err != nil {
			t.Fatal(err)
		}
		if have := documentsOf(t, d.Tokenizer, d.Sources[1].Text(corpus.Train)); !slices.Equal(have, []string{"first of all", "second of all"}) {
			t.Errorf("%q", have)
		}
		if have := documentsOf(t, d.Tokenizer, d.Sources[1].Text(corpus.Val)); !slices.Equal(have, []string{"a third row"}) {
			t.Errorf("%q", have)
		}
		s := d.Stats.Train
		if s.Documents != 4 || s.Tokens != d.Sources[0].Train.Len()+d.Sources[1].Train.Len() || d.Sources[0].Stats.Train.Documents != 2 || s.Source == d.Sources[0].Stats.Train.Source {
			t.Errorf("%+v", s)
		}
		if i == 1 && (r.did() != "" || s.Source != before) {
			t.Errorf("the second time: did %s", r.did())
		}
		before = s.Source
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	r.cfg.Sources[1].Train[0] = "nothing.jsonl"
	if _, err := Open(r.cfg, r.opt); err == nil || !strings.HasPrefix(err.Error(), "data.sources, rows: ") {
		t.Error(err)
	}
}

// uint16s is a file of ids.
func uint16s(ids ...uint16) string {
	var b []byte
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint16(b, id)
	}
	return string(b)
}

// TestTokenFilesAreText trains on ids that another program wrote, and wants them to be the ids of the same text.
func TestTokenFilesAreText(t *testing.T) {
	r := newRun(t)
	r.cfg.Tokenizer.Kind, r.cfg.Packing = "gpt2", "documents"
	d, err := Open(r.cfg, r.opt)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for format, sides := range map[string][2]string{shard.NanoGPT: {"n/train.bin", "n/val.bin"}, shard.LLMC: {"c/train_1.bin", "c/val_1.bin"}} {
		for i, from := range []*shard.Reader{d.Train, d.Val} {
			write(t, sides[i], "")
			if err := shard.WriteForeign(sides[i], format, from, func() error { return nil }); err != nil {
				t.Fatal(err)
			}
			date(t, sides[i], old)
		}
		r.cfg.Train, r.cfg.Val.Files = []string{sides[0][:2] + "train*.bin"}, []string{sides[1]}
		for i := range 2 {
			r.stages = nil
			again, err := Open(r.cfg, r.opt)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(ids(t, again.Train), ids(t, d.Train)) || !slices.Equal(ids(t, again.Val), ids(t, d.Val)) {
				t.Errorf("%s: other ids", format)
			}
			a, b := again.Stats.Train, d.Stats.Train
			if a.Bytes != b.Bytes || a.Documents != b.Documents || again.Stats.Val.Bytes != d.Stats.Val.Bytes {
				t.Errorf("%s: %+v, want %+v", format, a, b)
			}
			if have := documentsOf(t, d.Tokenizer, again.Sources[0].Text(corpus.Train)); !slices.Equal(have, documentsOf(t, d.Tokenizer, d.Sources[0].Text(corpus.Train))) {
				t.Errorf("%s: other documents", format)
			}
			if i == 1 && r.did() != "" {
				t.Errorf("%s: the second time did %s", format, r.did())
			}
			again.Close()
		}
	}
}

// TestTokenFilesAreDivided gives the end of several files to validation.
func TestTokenFilesAreDivided(t *testing.T) {
	r := newRun(t)
	write(t, "a.bin", uint16s(1, 2, 3, 4, 5, 6))
	write(t, "b.bin", uint16s(7, 8, 9, 10))
	r.cfg.Tokenizer.Kind, r.cfg.Val = "gpt2", data.Val{Fraction: 0.3, By: "auto"}
	r.cfg.Train = []string{"a.bin", "b.bin"}
	d, err := Open(r.cfg, r.opt)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if a, b := ids(t, d.Train), ids(t, d.Val); !slices.Equal(a, []int32{1, 2, 3, 4, 5, 6, 7}) || !slices.Equal(b, []int32{8, 9, 10}) {
		t.Errorf("%v and %v", a, b)
	}
}

func TestTokenFilesRefused(t *testing.T) {
	r := newRun(t)
	write(t, "a.bin", uint16s(1, 2, 300, 4, 5, 6))
	r.cfg.Train = []string{"a.bin", "text"}
	if _, err := Open(r.cfg, r.opt); err == nil {
		t.Error("ids and text are read as one")
	}
	if _, err := os.Stat("run"); err == nil {
		t.Error("a folder is made for texts that are refused")
	}
	write(t, "b.bin", uint16s(7, 8, 60000, 10))
	write(t, "c.bin", uint16s(1, 255, 256, 2, 3, 4))
	r.cfg.Val = data.Val{Fraction: 0.5, By: "auto"}
	for _, test := range []struct{ kind, by, train, want string }{
		{"bpe", "auto", "a.bin", "a tokenizer of kind bpe is made from text: name the one that they were made with"},
		{"char", "auto", "a.bin", "a tokenizer of kind char is made from text"},
		{"byte", "auto", "a.bin", "a.bin, byte 4: id 300 is outside the vocabulary of tokenizer byte, which has 256 ids"},
		{"byte", "auto", "c.bin", "c.bin, byte 4: id 256 is outside the vocabulary"},
		{"gpt2", "auto", "a.bin b.bin", "b.bin, byte 4: id 60000 is outside the vocabulary"},
		{"gpt2", "hash", "a.bin", "which are not divided by hash"},
		{"gpt2", "auto", "a.bin text", "holds token ids (.bin) and"},
	} {
		r.cfg.Tokenizer.Kind, r.cfg.Val.By, r.cfg.Train = test.kind, test.by, strings.Fields(test.train)
		if _, err := Open(r.cfg, r.opt); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
	if left, _ := filepath.Glob("run/*.tmp-*"); len(left) > 0 {
		t.Error("unfinished files are left", left)
	}
	if _, err := os.Stat("run"); err != nil {
		t.Error(err)
	}
}

// TestTokenizerSeesEverySource has characters that only the second source knows.
func TestTokenizerSeesEverySource(t *testing.T) {
	r := newRun(t)
	write(t, "greek.txt", "αβγδ αβγδ αβγδ")
	write(t, "greek-val.txt", "δγβα")
	r.cfg.Train, r.cfg.Val.Files, r.cfg.Tokenizer.Kind = nil, nil, "char"
	r.cfg.Sources = []data.Source{{Name: "text", Train: []string{"text"}, Val: []string{"val.txt"}, Weight: 1},
		{Name: "greek", Train: []string{"greek.txt"}, Val: []string{"greek-val.txt"}, Weight: 1}}
	r.open(t)
}

// TestSeparatorsAreFound puts separators beside the borders of what is read at a time.
func TestSeparatorsAreFound(t *testing.T) {
	tokens := make(batch.IDs, 40000)
	var have []int64
	want := []int64{0, 1, 16383, 16384, 16385, 32768, 39999}
	for _, at := range want {
		tokens[at] = 9
	}
	read := int64(0)
	err := separators(tokens, 9, func(at int64) error {
		have = append(have, at)
		return nil
	}, func(done int64) error {
		read = done
		return nil
	})
	if read != 40000 {
		t.Errorf("the last report is of %d tokens", read)
	}
	if err != nil || !slices.Equal(have, want) {
		t.Errorf("%v, %v, want %v", err, have, want)
	}
}

// TestTokenFilesAreCutByTheFraction wants a share that the sum in floating-point numbers falls short of.
func TestTokenFilesAreCutByTheFraction(t *testing.T) {
	r := newRun(t)
	write(t, "a.bin", uint16s(1, 2, 3, 4, 5, 6, 7, 8, 9, 10))
	r.cfg.Tokenizer.Kind, r.cfg.Val, r.cfg.Train = "gpt2", data.Val{Fraction: 0.9, By: "end"}, []string{"a.bin"}
	d, err := Open(r.cfg, r.opt)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Train.Len() != 1 || d.Val.Len() != 9 {
		t.Errorf("%d and %d ids", d.Train.Len(), d.Val.Len())
	}
}
