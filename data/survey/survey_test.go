package survey

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"prenorm/data"
	"prenorm/data/baseline"
	"prenorm/data/dataset"
)

// tale is a text of n words that no other seed gives.
func tale(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 7))
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("w%d", r.IntN(100000))
	}
	return strings.Join(words, " ")
}

// rows is a .jsonl of texts.
func rows(texts ...string) (lines string) {
	for _, text := range texts {
		line, _ := json.Marshal(map[string]string{"text": text})
		lines += string(line) + "\n"
	}
	return lines
}

// survey surveys files in a folder of its own. Training text is in train.jsonl, validation text in val.jsonl.
func survey(t *testing.T, train, val string, change func(*data.Config)) *Survey {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"train.jsonl": train, "val.jsonl": val} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cfg := data.Default()
	cfg.Train, cfg.Val.Files, cfg.Tokenizer.Kind = []string{"train.jsonl"}, []string{"val.jsonl"}, "byte"
	if change != nil {
		change(&cfg)
	}
	d, err := dataset.Open(cfg, dataset.Options{Dir: "data"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s, err := Run(cfg, d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestOverlap plants validation text in the training text: documents whole, by half, by a single n-gram, and of fewer words than one has.
func TestOverlap(t *testing.T) {
	half := tale(3, 40) + " " + tale(4, 40)
	one := tale(5, 60) + " " + tale(6, GramWords) + " " + tale(7, 60)
	train := rows(tale(1, 100), tale(2, 100), tale(30, 10)+" "+strings.ToUpper(tale(3, 40)), tale(6, GramWords), "a few words", "other words", "a few words")
	val := rows(tale(11, 100), tale(2, 100), half, one, tale(6, GramWords-1), "A few words!", "...", "a few more words")
	o := survey(t, train, val, nil).Overlap
	type figures struct {
		grams, found              int64
		documents, any, half, all int
	}
	// n words have n-12 n-grams; 40 of the planted half have 28.
	want := figures{88 + 88 + 68 + 121 + 1 + 1 + 1, 88 + 28 + 1 + 1, 7, 4, 2, 2}
	if got := (figures{o.Grams, o.Found, o.Documents, o.Any, o.Half, o.All}); got != want || o.Sampled != 1 || o.Words != 13 {
		t.Errorf("%+v, want %+v; one of %d", got, want, o.Sampled)
	}
	var list []string
	for _, d := range o.List {
		list = append(list, fmt.Sprintf("%s<%s %.3f", d.Document, d.Train, d.Share))
	}
	if got, want := strings.Join(list, ", "), fmt.Sprintf("val.jsonl:2<train.jsonl:2 1.000, val.jsonl:6<train.jsonl:5 1.000, val.jsonl:3<train.jsonl:3 %.3f, val.jsonl:4<train.jsonl:4 %.3f", 28./68, 1./121); got != want {
		t.Errorf("listed %s, want %s", got, want)
	}
}

// TestSampled wants a sample of the n-grams to give about the shares of all of them: of 20000 with a third planted, at most 1000 are taken, so
// that four standard errors are 4*sqrt(1/3*2/3/500).
func TestSampled(t *testing.T) {
	before := mostGrams
	defer func() { mostGrams = before }()
	mostGrams = 1000
	var train, val []string
	for i := range 200 {
		text := tale(uint64(i), 112)
		val = append(val, text)
		if i%3 == 0 {
			train = append(train, text)
		} else {
			train = append(train, tale(uint64(i+1000), 112))
		}
	}
	val = append(val, tale(5000, 9000)) // more n-grams than are held of one document
	o := survey(t, rows(train...), rows(val...), nil).Overlap
	if want := 67. * 100 / (20000 + 8988); o.Sampled != 32 || o.Grams < 500 || o.Grams > 1000 || math.Abs(o.Share()-want) > 4*math.Sqrt(want*(1-want)/float64(o.Grams)) {
		t.Errorf("one of %d, %d n-grams, share %.3f, want %.3f", o.Sampled, o.Grams, o.Share(), want)
	}
	// A single document has no less of a sample than many.
	if o := survey(t, rows("a"), rows(tale(5000, 3000)), nil).Overlap; o.Sampled != 4 || o.Grams < 500 || o.Grams > 1000 {
		t.Errorf("one of %d, %d n-grams", o.Sampled, o.Grams)
	}
}

// TestTies has validation documents of which two training documents have as much: the first is named.
func TestTies(t *testing.T) {
	var train, val []string
	for i := range uint64(20) {
		train = append(train, tale(i, 20), tale(100+i, 20))
		val = append(val, tale(100+i, 20)+" "+tale(i, 20))
	}
	for i, d := range survey(t, rows(train...), rows(val...), nil).Overlap.List {
		if want := fmt.Sprintf("train.jsonl:%d", 2*i+1); d.Train != want || d.Document != fmt.Sprintf("val.jsonl:%d", i+1) {
			t.Errorf("%+v, want %s", d, want)
		}
	}
}

// TestSame wants the number of cores to change nothing, with a sample too.
func TestSame(t *testing.T) {
	before := mostGrams
	defer func() { mostGrams = before }()
	for _, mostGrams = range []int{before, 300} {
		var train, val []string
		for i := range 120 {
			train = append(train, tale(uint64(i%90), 60+i%7), tale(uint64(i), 5))
			val = append(val, tale(uint64(i+50), 60))
		}
		var want string
		for _, cores := range []int{1, 2, 5} {
			previous := runtime.GOMAXPROCS(cores)
			s := survey(t, rows(train...), rows(val...), nil)
			runtime.GOMAXPROCS(previous)
			text, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			if want == "" {
				want = string(text)
			}
			if string(text) != want {
				t.Errorf("%d cores: %.2000s\nwant %.2000s", cores, text, want)
			}
		}
	}
}

// TestSides counts small texts by hand.
func TestSides(t *testing.T) {
	s := survey(t, rows("Hello, world 42!", "Привет мир", "日本語 abc", "", "..."), rows("abc", "αβγδ a"), nil)
	if v := s.Train; v.Documents != 4 || v.Bytes != 16+19+13+3 || v.Characters != 16+10+7+3 || v.Words != 3+2+4 || v.Tokens != v.Bytes {
		t.Errorf("%+v", v)
	}
	// Letters: 10 and 3 Latin, 9 Cyrillic, 3 Han.
	want := []Script{{"Latin", 13, 13. / 25, 1}, {"Cyrillic", 9, 9. / 25, 1}, {"Han", 3, 3. / 25, 1}}
	if fmt.Sprint(s.Train.Scripts) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", s.Train.Scripts, want)
	}
	if got := fmt.Sprint(s.Val.Scripts); got != fmt.Sprint([]Script{{"Greek", 4, 0.5, 1}, {"Latin", 4, 0.5, 1}}) {
		t.Error(got)
	}
	if got, want := fmt.Sprint(s.Train.Lengths), "[{4 1 3} {8 0 0} {16 1 13} {32 2 35}]"; got != want {
		t.Errorf("lengths %s, want %s", got, want)
	}
	if s.Lines.Uniform != math.Log(256) && s.Lines.Uniform != math.Log(257) || s.Lines.BitsPerByte.Uniform < 8 || s.Lines.Lines == (baseline.Lines{}) {
		t.Errorf("%+v", s.Lines)
	}
}

func TestScripts(t *testing.T) {
	names := make([]string, unicode.MaxRune+1)
	for name, table := range unicode.Scripts {
		rangetable(table, func(r rune) { names[r] = name })
	}
	for r, want := range names {
		got := ""
		if i := scriptOf(rune(r)); i >= 0 {
			got = scriptNames[i]
		}
		if got != want && (got != "" || want != "Common" && want != "Inherited") {
			t.Fatalf("%U is %q, want %q", r, got, want)
		}
	}
	all := make([]byte, 128)
	for c := range all {
		all[c] = byte(c)
	}
	l := &looker{}
	if l.Add(all); l.End().scripts[latin] != 52 {
		t.Error("ASCII has 52 letters")
	}
	for r, want := range map[rune]string{'a': "Latin", 'é': "Latin", 'ſ': "Latin", 'ж': "Cyrillic", 'ש': "Hebrew", 'ع': "Arabic", '中': "Han", 'か': "Hiragana", 'カ': "Katakana", '한': "Hangul", 'ก': "Thai", 'अ': "Devanagari",
		'1': "", ' ': "", '.': "", '\u0301': "", '😀': "", 0x10ffff: "", 0x20000: "Han"} {
		got := ""
		if i := scriptOf(r); i >= 0 {
			got = scriptNames[i]
		}
		if got != want {
			t.Errorf("%q is %q, want %q", r, got, want)
		}
	}
}

// rangetable calls f with every character of a table.
func rangetable(table *unicode.RangeTable, f func(rune)) {
	for _, r := range table.R16 {
		for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
			f(c)
		}
	}
	for _, r := range table.R32 {
		for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
			f(c)
		}
	}
}

// TestCopies plants copies of both kinds, within one side and across.
func TestCopies(t *testing.T) {
	long := tale(1, 400)
	s := survey(t, rows(long, tale(2, 50), long+" and a bit more", tale(2, 50), tale(3, 50)), rows(tale(3, 50), tale(4, 50)), nil)
	c := s.Copies
	if want := int64(len(long+" and a bit more") + len(tale(2, 50)) + len(tale(3, 50))); c.Bytes != want {
		t.Errorf("%d bytes of copies, want %d", c.Bytes, want)
	}
	if c.Compared != 7 || c.Exact != 2 || c.Near != 1 || c.Full || len(c.List) != 3 {
		t.Fatalf("%+v", c)
	}
	for i, want := range []string{"train.jsonl:3<train.jsonl:1 false", "train.jsonl:4<train.jsonl:2 true", "train.jsonl:5<val.jsonl:1 true"} {
		if d := c.List[i]; fmt.Sprintf("%s<%s %v", d.Document, d.Of, d.Exact) != want || d.Similarity < 0.8 || d.Exact != (d.Similarity == 1) {
			t.Errorf("%+v, want %s", d, want)
		}
	}
	// Near copies by their similarity: a text that differs in case alone has 1, one with 8 of its 75 words others about 0.8 and less than 1.
	s = survey(t, rows(tale(1, 75), strings.ToUpper(tale(1, 75)), tale(2, 200), strings.ToUpper(tale(2, 200)), tale(5, 200)+" "+tale(8, 9), tale(5, 200)), rows("a val"), nil)
	if h := s.Copies.Hist; s.Copies.Near != 3 || h[9] < 2 || h[9]+h[8]+h[7]+h[6]+h[5] != 3 {
		t.Errorf("%+v", s.Copies)
	}
	// What is dropped is not in the sides, and is still told of.
	s = survey(t, rows(long, long, tale(5, 20)), rows(tale(3, 50)), func(c *data.Config) { c.Duplicates = "drop_exact" })
	if s.Train.Documents != 2 || s.Copies.Exact != 1 || len(s.Notes) != 1 {
		t.Errorf("%d documents, %+v, %v", s.Train.Documents, s.Copies, s.Notes)
	}
}

// TestPacked wants text at random to take its entropy (zstd's encoder does not try where nothing repeats), text that repeats to take little, and a validation text that is in the training text to
// take next to nothing behind it.
func TestPacked(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	noise := make([]byte, 40000) // of 64 characters: 6 bits each
	for i := range noise {
		noise[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-"[r.IntN(64)]
	}
	s := survey(t, rows(tale(1, 100), string(noise)), rows(string(noise)), nil)
	p := s.Val.Packed
	if p.Bytes != 40000 || p.Gzip < 6 || p.Gzip > 6.2 || p.Zstd < 6 || p.Zstd > 8.01 || p.ZstdGiven > 0.1 {
		t.Errorf("%+v", p)
	}
	if again := survey(t, rows(strings.Repeat("again and ", 4000)), rows(string(noise)), nil); again.Train.Packed.Zstd > 0.05 || again.Train.Packed.Gzip > 0.1 || again.Val.Packed.ZstdGiven < 6 {
		t.Errorf("%+v %+v", again.Train.Packed, again.Val.Packed)
	}
}
