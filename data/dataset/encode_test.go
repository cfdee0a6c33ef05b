package dataset

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"prenorm/data"
	"prenorm/data/corpus"
	"prenorm/data/token"
)

// TestPiecesGiveTheIDsOfTheWhole holds every registered kind to what encode relies on.
func TestPiecesGiveTheIDsOfTheWhole(t *testing.T) {
	text := []byte(words(30_000))
	for _, kind := range token.Kinds() {
		cfg := data.Default().Tokenizer
		cfg.Kind, cfg.Vocab = kind, 400
		tok, err := token.New(cfg, func(yield func([]byte, error) bool) { yield(text, nil) }, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := tok.Encode(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{0, 1, 10, 1000, 50_000} {
			var got []int32
			pieces := 0
			for rest := text; len(rest) > 0; pieces++ {
				n := token.PlacesOf(tok).Cut(rest, size)
				if !utf8.Valid(rest[:n]) {
					t.Fatalf("%s: a piece of %d bytes ends inside a character", kind, n)
				}
				if got, err = tok.Encode(got, rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: pieces of %d bytes give other ids", kind, size)
			}
			if size < 1000 && pieces < 20 {
				t.Errorf("only %d pieces of %d bytes", pieces, size)
			}
		}
	}
}

// TestPiecesOfStretches has a text without a place for long, whose stretches end at every byte around the first: the pieces are those of the whole.
func TestPiecesOfStretches(t *testing.T) {
	const places = token.Places(0b10000) // behind a line break alone
	text := strings.Repeat("東", pieceSize/3+9) + "。\n\u3000字\n字" + strings.Repeat("東", 9)
	at := strings.LastIndex(text, "\n") + 1
	for end := at - 9; end < at+5; end++ {
		stretches := func(yield func(corpus.Document, error) bool) {
			_ = yield(corpus.Document{Text: []byte(text[:end]), Rest: int64(len(text) - end)}, nil) &&
				yield(corpus.Document{Text: []byte(text[end:]), Offset: int64(end), Continues: true}, nil)
		}
		var got []int
		for p, err := range pieces(stretches, places) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, len(p.text))
		}
		if want := []int{at, len(text) - at}; !slices.Equal(got, want) {
			t.Errorf("a stretch ends at %d: pieces of %d bytes, want %d", end, got, want)
		}
	}
}

// letters is a tokenizer of lower-case letters and spaces with separator 30, if any.
type letters struct {
	token.Tokenizer
	separator int32
}

func (l letters) Separator() int32 { return l.separator }

func (letters) Kind() string { return "letters" }

func (letters) Encode(dst []int32, text []byte) ([]int32, error) {
	for i, b := range text {
		if b != ' ' && (b < 'a' || b > 'z') {
			return dst, fmt.Errorf("character %q at byte %d", b, i)
		}
		dst = append(dst, int32(b)&31)
	}
	return dst, nil
}

// documents makes a sequence of documents.
func documents(texts ...string) corpus.Documents {
	return func(yield func(corpus.Document, error) bool) {
		for i, text := range texts {
			if !yield(corpus.Document{Name: fmt.Sprintf("text %d", i), Text: []byte(text)}, nil) {
				return
			}
		}
	}
}

func TestEncodeIsInOrder(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var texts []string
	for i := range 300 {
		texts = append(texts, strings.Repeat(string(rune('a'+i%26))+" ", 1+i*i%97))
	}
	texts = append(texts, strings.Repeat("long text ", 600_000), "end") // more than a wave
	for _, separator := range []int32{30, -1} {
		tok := letters{separator: separator}
		var want []int32
		for i, text := range texts {
			if i > 0 && separator >= 0 {
				want = append(want, separator)
			}
			want, _ = tok.Encode(want, []byte(text))
		}
		for _, cores := range []int{1, 2, 7} {
			runtime.GOMAXPROCS(cores)
			var got []int32
			var done int64
			err := encode(tok, documents(texts...), false, func(ids []int32) error {
				got = append(got, ids...)
				return nil
			}, func(n int64) {
				if n < done {
					t.Errorf("progress went from %d to %d", done, n)
				}
				done = n
			})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("separator %d, %d cores: other ids, %v", separator, cores, err)
			}
			if total := int64(len(strings.Join(texts, ""))); done != total {
				t.Errorf("progress ends at %d of %d bytes", done, total)
			}
		}
	}
}

func TestEncodeErrors(t *testing.T) {
	emit := func([]int32) error { return nil }
	late := strings.Repeat("abc ", 100_000)
	err := encode(letters{}, documents("abc", late+"X"+late, "Y"), false, emit, func(int64) {})
	if err == nil || err.Error() != "text 1: character 'X' at byte 400000" {
		t.Errorf("error %v", err)
	}
	part := func(yield func(corpus.Document, error) bool) {
		yield(corpus.Document{Name: "a.txt", Offset: 70, Text: []byte("abX")}, nil)
	}
	if err := encode(letters{}, part, false, emit, func(int64) {}); err == nil || err.Error() != "a.txt, in its part from byte 70 on: character 'X' at byte 2" {
		t.Errorf("error %v", err)
	}
	full := errors.New("disk full")
	for _, separator := range []int32{30, -1} {
		calls := 0
		if err := encode(letters{separator: separator}, documents("abc", "def"), false, func([]int32) error {
			if calls++; calls == 2 {
				return full
			}
			return nil
		}, func(int64) {}); !errors.Is(err, full) {
			t.Errorf("error %v", err)
		}
	}
	broken := func(yield func(corpus.Document, error) bool) { yield(corpus.Document{}, full) }
	if err := encode(letters{}, broken, false, emit, func(int64) {}); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
}

// invalid is the default with a rule for invalid text.
func invalid(rule string) data.Config {
	c := data.Default()
	c.Invalid = rule
	return c
}

func TestEncodeFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a.txt", "\xEF\xBB\xBFabc")
	write(t, "b.md", "x\xFFz")
	tok, err := token.New(token.Config{Kind: "byte"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := EncodeFiles(tok, []string{"*", "-"}, invalid("replace"), strings.NewReader("in"))
	if err != nil {
		t.Fatal(err)
	}
	want := []int32{'a', 'b', 'c', 'x', 0xEF, 0xBF, 0xBD, 'z', 'i', 'n'}
	if !slices.Equal(text.IDs, want) || text.Documents != 3 || text.Bytes != 10 || !strings.HasPrefix(text.Note, "1 run of bytes that are not UTF-8 (at b.md:1) is read as U+FFFD") {
		t.Errorf("%+v", text)
	}
	if _, err := EncodeFiles(tok, []string{"*"}, invalid("fail"), nil); err == nil || !strings.Contains(err.Error(), "b.md:1:") {
		t.Errorf("invalid UTF-8: %v", err)
	}
	if _, err := EncodeFiles(tok, []string{"c.txt"}, invalid("fail"), nil); err == nil || !strings.Contains(err.Error(), "c.txt") {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.Remove("b.md"); err != nil {
		t.Fatal(err)
	}
	if text, err := EncodeFiles(tok, []string{"."}, invalid("fail"), nil); err != nil || len(text.IDs) != 3 {
		t.Errorf("a folder: %+v, %v", text, err)
	}
}
