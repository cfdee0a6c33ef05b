package corpus

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"prenorm/data"
)

// collect reads one side.
func collect(t *testing.T, c *Corpus, side Side) (docs []Document) {
	t.Helper()
	for d, err := range c.Documents(side) {
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, d)
	}
	return docs
}

func texts(docs []Document) string {
	var list []string
	for _, d := range docs {
		list = append(list, string(d.Text))
	}
	return strings.Join(list, "|")
}

func TestSeparateFiles(t *testing.T) {
	tree(t, map[string]string{"d/a.txt": "\xEF\xBB\xBFone\r\n", "d/b.txt": "two", "d/v.txt": "three"})
	cfg := config("d")
	cfg.Val.Files = []string{"d/v.txt", "-"}
	c, err := Open(cfg, strings.NewReader("four"), "")
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(collect(t, c, Train)); got != "one\r\n|two" {
		t.Errorf("training text %q", got)
	}
	if got := texts(collect(t, c, Val)); got != "three|four" {
		t.Errorf("validation text %q", got)
	}
	cfg.Val.Files = []string{"d"}
	if _, err := Open(cfg, nil, ""); err == nil || !strings.Contains(err.Error(), "none is left") {
		t.Errorf("the same files on both sides: %v", err)
	}
	cfg.Train, cfg.Val.Files = []string{"-"}, []string{"-"}
	if _, err := Open(cfg, strings.NewReader("x"), ""); err == nil || !strings.Contains(err.Error(), "only once") {
		t.Errorf("standard input twice: %v", err)
	}
}

func TestStandardInput(t *testing.T) {
	cfg := config("-")
	cfg.Val.Fraction = 0.5
	c, err := Open(cfg, strings.NewReader("0123456789"), "")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second pass reads the same
		if got := texts(collect(t, c, Train)) + "|" + texts(collect(t, c, Val)); got != "01234|56789" {
			t.Errorf("got %q", got)
		}
	}
	if d := collect(t, c, Val); d[0].Name != "<stdin>" || d[0].Offset != 5 {
		t.Errorf("document %+v", d[0])
	}
}

func TestInvalidUTF8(t *testing.T) {
	tree(t, map[string]string{
		"bad.txt":  "\xEF\xBB\xBFone\ntwo\nthr\xFFee\n",
		"wide.txt": "\xFF\xFE\x00\xD8b\x00", // half a surrogate pair
		"good.txt": "gré",
	})
	for _, test := range []struct {
		file string
		want []string
	}{
		{"bad.txt", []string{"bad.txt:3:", "ff 65 65 0a", "offset 14", "data.invalid_utf8=replace"}},
		{"wide.txt", []string{"wide.txt:1:", "offset 0", "UTF-16"}},
	} {
		c, err := Open(config("good.txt", test.file), nil, "")
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = c.Scan(nil)
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want it to say %q", test.file, err, want)
			}
		}
	}
	cfg := config("bad.txt")
	cfg.Invalid, cfg.Val.Files = "replace", []string{"good.txt"}
	c, err := Open(cfg, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(collect(t, c, Train)); got != "one\ntwo\nthr\uFFFDee\n" {
		t.Errorf("replaced text %q", got)
	}
	cfg.Invalid = "ignore"
	if _, err := Open(cfg, nil, ""); err == nil || !strings.Contains(err.Error(), "data.invalid_utf8") {
		t.Errorf("unknown policy: %v", err)
	}
}

func TestHashSplit(t *testing.T) {
	files := map[string]string{}
	for i := range 400 {
		files[fmt.Sprintf("d/%03d.txt", i)] = fmt.Sprintf("document %d", i)
	}
	tree(t, files)
	sides := map[string]Side{}
	c, err := Open(config("d"), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, side := range []Side{Train, Val} {
		for _, d := range collect(t, c, side) {
			if _, twice := sides[string(d.Text)]; twice {
				t.Errorf("%s is on both sides", d.Name)
			}
			sides[string(d.Text)] = side
		}
	}
	train, val, err := c.Scan(nil)
	if err != nil || len(sides) != 400 || train.Documents+val.Documents != 400 {
		t.Fatalf("%d documents, scan %d + %d, %v", len(sides), train.Documents, val.Documents, err)
	}
	if val.Documents < 20 || val.Documents > 60 { // 40 expected, standard deviation 6
		t.Errorf("%d of 400 documents at fraction 0.1", val.Documents)
	}
	// Other documents, another order and other names move none to the other side.
	c, err = Open(config("d/3*.txt", "d/0*.txt"), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range collect(t, c, Val) {
		if sides[string(d.Text)] != Val {
			t.Errorf("%s moved", d.Name)
		}
	}
	cfg := config("d/00[01].txt")
	cfg.Val.Fraction, cfg.Val.By = 1e-9, "hash"
	if c, err = Open(cfg, nil, ""); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Scan(nil); err == nil || !strings.Contains(err.Error(), "no validation text") || !strings.Contains(err.Error(), "data.val.by=end") {
		t.Errorf("one-sided division: %v", err)
	}
}

// TestFallBack divides texts of which hashing leaves a side empty, and others again once there are more of them.
func TestFallBack(t *testing.T) {
	tree(t, map[string]string{"d/a.txt": strings.Repeat("a", 60), "d/b.txt": strings.Repeat("b", 30), "d/c.txt": strings.Repeat("c", 10)})
	for _, fraction := range []float64{1e-9, 0.05, 1 - 1e-9} {
		cfg := config("d")
		cfg.Val.Fraction = fraction
		c, err := Open(cfg, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if fraction != 0.05 { // hardly a byte is left for one side
			if _, _, err := c.Scan(nil); err == nil || !strings.Contains(err.Error(), "of the text leaves no") {
				t.Errorf("fraction %v: %v", fraction, err)
			}
			continue
		}
		for range 2 { // a second scan finds the same
			if train, val, err := c.Scan(nil); err != nil || train.Bytes != 95 || val.Bytes != 5 {
				t.Fatalf("scan %+v %+v %v", train, val, err)
			}
		}
		if got := texts(collect(t, c, Val)); got != "ccccc" {
			t.Errorf("validation text %q", got)
		}
		if want := "3 documents cannot be divided by hash at fraction 0.05: the validation text is the end of the text (data.val.by: end)"; c.Note() != want || c.Few() != 3 {
			t.Errorf("note %q, want %q; %d documents", c.Note(), want, c.Few())
		}
		other, err := Open(cfg, nil, "") // as from a cache: no scan
		if err != nil {
			t.Fatal(err)
		}
		if other.FallBack(0); other.Note() != "" {
			t.Errorf("note without cause: %q", other.Note())
		}
		if other.FallBack(3); texts(collect(t, other, Val)) != "ccccc" || other.Note() != c.Note() {
			t.Errorf("told to fall back: %q, %q", texts(collect(t, other, Val)), other.Note())
		}
		for i := range 300 { // the same corpus object, a text that grew
			if err := os.WriteFile("d/a.txt", fmt.Append(nil, i), 0o666); err != nil {
				t.Fatal(err)
			}
			if hashSide(fmt.Append(nil, i), fraction) == Val {
				break
			}
		}
		if _, val, err := c.Scan(nil); err != nil || val.Documents != 1 || c.Note() != "" {
			t.Errorf("with a document that hashes to the validation side: %+v, %v, note %q", val, err, c.Note())
		}
	}
}

func TestEndSplit(t *testing.T) {
	tree(t, map[string]string{"a.txt": strings.Repeat("a", 60), "b.txt": strings.Repeat("b", 30), "c.txt": strings.Repeat("c", 10), "é.txt": "é"})
	cfg := config("a.txt", "b.txt", "c.txt")
	cfg.Val.By, cfg.Val.Fraction = "end", 0.25
	c, err := Open(cfg, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if train, val, err := c.Scan(nil); train.Bytes != 75 || val.Bytes != 25 || train.Documents != 2 || val.Documents != 2 || err != nil {
		t.Errorf("scan %+v %+v %v", train, val, err)
	}
	if got := texts(collect(t, c, Val)); got != strings.Repeat("b", 15)+"|"+strings.Repeat("c", 10) {
		t.Errorf("validation text %q", got)
	}
	if c, err = Open(config("é.txt"), nil, ""); err != nil {
		t.Fatal(err)
	}
	if _, _, err = c.Scan(nil); err == nil || !strings.Contains(err.Error(), "leaves no") {
		t.Errorf("a text of one character: %v", err)
	}
}

func TestFractionAndByErrors(t *testing.T) {
	tree(t, map[string]string{"a.txt": "text"})
	for _, val := range []data.Val{{Fraction: 0, By: "auto"}, {Fraction: 1, By: "end"}, {Fraction: math.NaN(), By: "hash"}, {Fraction: 0.1, By: "date"}} {
		cfg := config("a.txt")
		cfg.Val = val
		if _, err := Open(cfg, nil, ""); err == nil || !strings.Contains(err.Error(), "data.val.") {
			t.Errorf("%+v: %v", val, err)
		}
	}
}

func TestCutNear(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	long := strings.Repeat("x", 5000)
	for _, test := range []struct {
		text     string
		at, want int
	}{
		{strings.Repeat(line, 50), 2510, 2500},                // back
		{strings.Repeat(line, 50), 2580, 2600},                // forth
		{strings.Repeat(line, 50), 2500, 2500},                // already there
		{long + "\n" + long, 5001 + 1024, 5001},               // just within reach
		{long + "\n" + long, 5001 + 1025, 6026},               // just out of reach
		{long + "\n" + long, 5001 - 1024, 5001},               //
		{long + "\n" + long, 5001 - 1025, 3976},               //
		{"aaaaaaa\n" + "bb", 9, 9},                            // a line start exists, but would take half of the smaller part
		{strings.Repeat("é", 10), 11, 10},                     // inside a character
		{strings.Repeat("x", 50) + "\r\n" + long, 1000, 1000}, // 948 bytes away is more than half of the smaller part
	} {
		if got := cutNear([]byte(test.text), test.at); got != test.want {
			t.Errorf("cut of %d bytes at %d: %d, want %d", len(test.text), test.at, got, test.want)
		}
	}
}

// FuzzCutNear holds the cut inside the text, at a character, for any text and place.
func FuzzCutNear(f *testing.F) {
	f.Add([]byte("héé\n\nwörld"), 4)
	f.Add([]byte(""), 0)
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		text = bytes.ToValidUTF8(text, nil)
		if at < 0 || at > len(text) {
			return
		}
		cut := cutNear(text, at)
		if cut < 0 || cut > len(text) || !utf8.Valid(text[:cut]) || !utf8.Valid(text[cut:]) {
			t.Errorf("cut of %q at %d: %d", text, at, cut)
		}
	})
}

func TestTexts(t *testing.T) {
	tree(t, map[string]string{"a.txt": "aaaa", "b.txt": "bbbbbb"})
	c, err := Texts([]string{"b.txt", "-", "*.txt"}, data.Default(), strings.NewReader("in"), "")
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(collect(t, c, Train)); got != "bbbbbb|in|aaaa" || len(collect(t, c, Val)) != 0 {
		t.Errorf("got %q", got)
	}
	if _, err := Texts([]string{"c.txt"}, data.Default(), nil, ""); err == nil || strings.Contains(err.Error(), "--set") || !strings.Contains(err.Error(), "on the command line") {
		t.Errorf("error %v", err)
	}
}
