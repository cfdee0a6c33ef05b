package dataset

import (
	"os"
	"slices"
	"strings"
	"testing"

	"prenorm/data"
	"prenorm/data/corpus"
	"prenorm/data/token"
)

// two makes the run one of two sources, the second over the given patterns.
func (r *run) two(train, val []string) {
	r.cfg.Train, r.cfg.Val.Files = nil, nil
	r.cfg.Sources = []data.Source{{Name: "one", Train: []string{"text/a.txt"}, Val: []string{"val.txt"}, Weight: 1}, {Name: "two", Train: train, Val: val, Weight: 1}}
}

// TestNotesNameTheSource has notes on one of two sources, of text and of token files, each line with its name; what is said of the tokenizer, which
// is of both, has none.
func TestNotesNameTheSource(t *testing.T) {
	r := newRun(t)
	write(t, "a.json", words(900))
	r.cfg.Tokenizer.Vocab = 2000
	r.two([]string{"text/b.txt", "text", "a.json"}, []string{"val.txt"})
	for range 2 {
		r.open(t)
		if len(r.notes) != 2 || !strings.HasPrefix(r.notes[0], "source two: train names text/b.txt more than once") || !strings.Contains(r.notes[0], "\nsource two: train: a.json is read as plain text") ||
			!strings.HasPrefix(r.notes[1], "the text yields ") {
			t.Errorf("notes %q", r.notes)
		}
	}
	write(t, "a.bin", uint16s(1, 2, 3, 4, 5, 6))
	r.cfg.Tokenizer = data.Default().Tokenizer
	r.cfg.Tokenizer.Kind = "byte"
	r.two([]string{"a.bin", "a.bin"}, nil)
	r.cfg.Val.Fraction = 0.5
	if r.open(t); !slices.Equal(r.notes, []string{"source two: train names a.bin more than once: it counts once"}) {
		t.Errorf("notes %q", r.notes)
	}
}

// TestGoingOnNamesTheSource stops the second of two sources within its text.
func TestGoingOnNamesTheSource(t *testing.T) {
	marks(t, 200_000)
	r := newRun(t)
	rows(t, 1500)
	r.two([]string{"text/c.jsonl"}, []string{"val.txt"})
	r.stopWithin(t, "encoding training text", 700_000)
	if r.open(t); len(r.notes) != 1 || !strings.HasPrefix(r.notes[0], "source two: encoding training text: going on after ") {
		t.Errorf("notes %q", r.notes)
	}
}

// TestHintsNameTheSource wants what is wrong with a source of several to be mended in that source.
func TestHintsNameTheSource(t *testing.T) {
	r := newRun(t)
	write(t, "a.bin", uint16s(1, 2, 3, 4, 5, 6))
	write(t, "short.txt", "x")
	for _, test := range []struct {
		train, val, by, want string
	}{
		{"text/b.txt", "short.txt", "auto", "or validation files (val of source two)"},
		{"gone.txt", "", "auto", "name a text that exists in train of source two"},
		{"text/b.txt", "", "hash", "or name validation files (val of source two)"},
		{"a.bin", "", "hash", "or name validation files (val of source two)"},
	} {
		r.cfg.Tokenizer.Kind, r.cfg.Val.By = "byte", test.by
		r.two(strings.Fields(test.train), strings.Fields(test.val))
		if _, err := Open(r.cfg, r.opt); err == nil || !strings.HasPrefix(err.Error(), "data.sources, two: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v", test, err)
		}
	}
}

// TestTheShareIsNotedAgain wants the note on an uneven division from a run that finds all in place.
func TestTheShareIsNotedAgain(t *testing.T) {
	r := newRun(t)
	write(t, "text/c.txt", words(200_000))
	r.cfg.Val = data.Val{By: "hash", Fraction: 0.5}
	for range 2 {
		r.open(t)
		if len(r.notes) != 1 || !strings.HasPrefix(r.notes[0], "the validation text is ") {
			t.Errorf("did %q, notes %q", r.did(), r.notes)
		}
	}
}

// TestNoPlaceToCut wants a text that cannot be cut to be refused with a remedy that holds, and lines of every script to be read.
func TestNoPlaceToCut(t *testing.T) {
	old := maxPiece
	maxPiece = pieceSize + 100
	t.Cleanup(func() { maxPiece = old })
	for line, kinds := range map[string]string{
		"word\n": "bpe byte", "5\n": "bpe byte", "x ": "bpe byte", ", ": "bpe byte", "word\r\n": "bpe byte", ",\n": "bpe byte", "。\n": "bpe byte",
		"東京へ行く。": "bpe byte", "東京」\r\n": "bpe byte", "a1": "bpe byte", "\n": "byte", " ": "byte", "x": "byte", "東": "byte", "。": "byte", "/\n": "byte", "\"\r\n": "byte",
	} {
		text := []byte(strings.Repeat(line, 3*pieceSize/len(line)))
		long := func(yield func(corpus.Document, error) bool) {
			_ = yield(corpus.Document{Name: "a.txt", Text: slices.Clone(text), Rest: int64(len(text))}, nil) &&
				yield(corpus.Document{Name: "a.txt", Text: text, Offset: int64(len(text)), Continues: true}, nil)
		}
		for _, kind := range []string{"bpe", "byte"} {
			var err error
			Texts(long, token.PlacesToTrain(kind))(func(_ []byte, e error) bool { err = e; return e == nil })
			if want := strings.Contains(kinds, kind); (err == nil) != want {
				t.Errorf("%q, %s: %v", line, kind, err)
			}
			if remedy := "put in line breaks, each by itself behind a letter or a digit, or spaces"; err != nil && !strings.Contains(err.Error(), remedy) {
				t.Errorf("%q: %v", line, err)
			}
		}
	}
}

// TestRereadNamesTheSource damages the text of a source without a trace in size and time.
func TestRereadNamesTheSource(t *testing.T) {
	r := newRun(t)
	r.cfg.Train, r.cfg.Val.Files = nil, nil
	r.cfg.Sources = []data.Source{{Name: "one", Train: []string{"text/a.txt"}, Val: []string{"val.txt"}, Weight: 1}, {Name: "two", Train: []string{"text/b.txt"}, Val: []string{"val.txt"}, Weight: 1}}
	r.open(t)
	text, err := os.ReadFile("text/b.txt")
	if err != nil {
		t.Fatal(err)
	}
	text[700] = 0xFF
	write(t, "text/b.txt", string(text))
	for _, path := range append(glob(t, "run/train-*"), glob(t, "run/tokenizer-*")...) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(r.cfg, r.opt); err == nil || !strings.HasPrefix(err.Error(), "data.sources, two: text") {
		t.Errorf("error %v", err)
	}
}

// TestCopiesAreNotedAgain wants the note of documents that are left out from a run that finds all in place.
func TestCopiesAreNotedAgain(t *testing.T) {
	r := newRun(t)
	write(t, "text/c.txt", words(3000))
	r.cfg.Duplicates = "drop_exact"
	for range 2 {
		r.open(t)
		if len(r.notes) != 1 || !strings.HasPrefix(r.notes[0], "1 document of 4 left out as copies") {
			t.Errorf("did %q, notes %q", r.did(), r.notes)
		}
	}
}
