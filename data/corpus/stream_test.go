package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"prenorm/data"
)

// wholes joins the stretches of documents again, and checks what they say of themselves.
func wholes(t *testing.T, parts []Document) (docs []Document) {
	t.Helper()
	for _, d := range parts {
		if len(d.Text) == 0 || !utf8.Valid(d.Text) {
			t.Errorf("%s: a stretch of %d bytes, valid %v", d.Name, len(d.Text), utf8.Valid(d.Text))
		}
		if !d.Continues {
			docs = append(docs, d)
			continue
		}
		last := &docs[len(docs)-1]
		if last.Rest != int64(len(d.Text))+d.Rest || last.Offset+int64(len(last.Text)) != d.Offset || last.Name != d.Name {
			t.Errorf("%s: %d bytes at %d and %d more follow %d at %d and %d more", d.Name, len(d.Text), d.Offset, d.Rest, len(last.Text), last.Offset, last.Rest)
		}
		last.Text, last.Rest = append(last.Text, d.Text...), d.Rest
	}
	for _, d := range docs {
		if d.Rest != 0 {
			t.Errorf("%s: %d bytes never came", d.Name, d.Rest)
		}
	}
	return docs
}

// TestStretches reads documents whole and in stretches, divided in every way: they are the same, and so are the summaries.
func TestStretches(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString([]string{"word ", "é", "日本", "\n", strings.Repeat("x", 3000), "\r\n"}[random.IntN(6)])
		}
		return b.String()
	}
	files := map[string]string{"d/0.txt": text(300_000), "d/1.txt": text(90), "d/3.txt": text(700_000), "d/4.tar.gz": gz(t, archive(t, "a.txt", text(200_000), "b.md", "short", "c.txt", text(150_000)))}
	for i := range 10 {
		files[fmt.Sprintf("d/2%d.txt", i)] = text(10 * i)
	}
	tree(t, files)
	for _, val := range []data.Val{{By: "hash", Fraction: 0.5}, {By: "end", Fraction: 0.1}, {By: "end", Fraction: 0.03}, {By: "end", Fraction: 0.6}, {By: "end", Fraction: 0.9}, {Files: []string{"d/3.txt", "d/1.txt"}}} {
		cfg := config("d")
		cfg.Val = val
		var want string
		for _, stretch := range []int{1 << 22, 1 << 16, 1 << 10} {
			small(t, stretch, 1<<22)
			c, err := Open(cfg, nil, "")
			if err != nil {
				t.Fatal(err)
			}
			train, valid, err := c.Scan(nil)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(train, valid)
			for _, side := range []Side{Train, Val} {
				parts := collect(t, c, side)
				docs := wholes(t, parts)
				if stretch < 1<<22 && val.By == "end" && len(parts) == len(docs) {
					t.Errorf("%+v: no document came in stretches", val)
				}
				for _, d := range docs {
					got += fmt.Sprintf(" %s %d %d %x", d.Name, d.Offset, len(d.Text), hashOf(d.Text))
				}
			}
			if want == "" {
				want = got
			} else if got != want {
				t.Errorf("%+v, stretches of %d: got\n%s, want\n%s", val, stretch, got, want)
			}
		}
	}
}

func hashOf(text []byte) [32]byte { h := NewHasher(); h.Add(text); return h.Summary().Fingerprint }

// TestChangedBetweenPasses changes a long file between the pass that measures it and the one that hands it on.
func TestChangedBetweenPasses(t *testing.T) {
	small(t, 1<<16, 1<<20)
	tree(t, map[string]string{"a.txt": strings.Repeat("a line of text\n", 20_000), "b.txt": "b"})
	c, err := Open(config("a.txt", "b.txt"), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Scan(nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("a.txt", bytes.Repeat([]byte("a line of text\n"), 19_000), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, side := range []Side{Train, Val} {
		err = nil
		for _, e := range c.Documents(side) {
			err = e
		}
		if hashed := c.measures[[2]int{0, 0}].long[0].side; hashed == side && (!errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "a.txt")) {
			t.Errorf("%v: %v", side, err)
		}
	}
}

// TestStop ends reading at every question.
func TestStop(t *testing.T) {
	tree(t, map[string]string{"a.tar.gz": gz(t, archive(t, "a.jsonl.zst", zst(t, lines), "b.txt", "text")), "b.csv": rows, "c.parquet": fixture(t, "gzip.parquet")})
	stopped := errors.New("stopped")
	for at := 1; ; at++ {
		c, err := Texts([]string{"a.tar.gz", "b.csv", "c.parquet"}, data.Default(), nil, "")
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		c.Stop = func() error {
			if asked++; asked >= at {
				return stopped
			}
			return nil
		}
		for _, err = range c.Documents(Train) {
		}
		if asked < at {
			if err != nil || at < 5 {
				t.Errorf("asked %d times, %v", asked, err)
			}
			return
		}
		if !errors.Is(err, stopped) || err.Error() != "stopped" {
			t.Errorf("question %d: %v", at, err)
		}
	}
}

// TestEncodings reads UTF-16 and policies for what is no text, at every place where two blocks may meet.
func TestEncodings(t *testing.T) {
	utf := func(text string, big bool) string {
		var b strings.Builder
		for _, u := range append([]uint16{0xFEFF}, utf16.Encode([]rune(text))...) {
			if big {
				b.WriteByte(byte(u >> 8))
			}
			b.WriteByte(byte(u))
			if !big {
				b.WriteByte(byte(u >> 8))
			}
		}
		return b.String()
	}
	keep := func(*data.Config) {}
	replace := func(c *data.Config) { c.Invalid = "replace" }
	drop := func(c *data.Config) { c.Invalid = "drop" }
	fold := func(c *data.Config) { c.Newlines = "fold" }
	for _, test := range []struct {
		name, text string
		set        func(*data.Config)
		want       string
	}{
		{"a.txt", utf("é日😀\r\n", false), keep, "[a.txt|é日😀\r\n]"},
		{"a.txt", utf("é日😀\r\n", true), fold, "[a.txt|é日😀\n]"},
		{"a.csv", utf("text\n\"é,\"\n", false), keep, "[a.csv:2|é,]"},
		{"a.jsonl", utf("{\"text\": \"é\"}", true), keep, "[a.jsonl:1|é]"},
		{"a.txt", utf("", false), keep, ""},
		{"a.txt", "\xFF\xFEa\x00\x00\xDC\x00\xD8b\x00c", replace, "[a.txt|a\uFFFDb\uFFFD]"},
		{"a.txt", "\xFF\xFEa\x00\x00\xDC\x00\xD8b\x00c", drop, "[a.txt|ab]"},
		{"a.txt", "a\xFF\xFE\xC3b\xE2\x82", replace, "[a.txt|a\uFFFDb\uFFFD]"},
		{"a.txt", "a\xFF\xFE\xC3b\xE2\x82", drop, "[a.txt|ab]"},
		{"a.txt", "a\x00b\r\r\nc\r", func(c *data.Config) { c.NUL, c.Newlines = "drop", "fold" }, "[a.txt|ab\r\nc\r]"},
		{"a.jsonl", `{"text": "a\r\n\u0000"}`, func(c *data.Config) { c.NUL, c.Newlines = "drop", "fold" }, "[a.jsonl:1|a\n]"},
		{"a.jsonl", `{"text": "\ud83d\ude00\\ud83d\ud83d\uDE0\udc00"}`, replace, ""},
		{"a.jsonl", `{"text": "\ud83d\ude00\\ud83d\ud83dx\udc00"}`, replace, "[a.jsonl:1|😀\\ud83d\uFFFDx\uFFFD]"},
		{"a.jsonl", `{"text": "\ud83d\ude00\\ud83d\ud83dx\udc00"}`, drop, "[a.jsonl:1|😀\\ud83dx]"},
		{"a.jsonl", `{"text": "\ud83d\ud83d!"}`, drop, "[a.jsonl:1|!]"},
		{"a.jsonl", "{\"text\": \"a\xFFb\"}", drop, "[a.jsonl:1|ab]"},
		{"a.csv", "\xEF\xBB\xBFtext\n\"a\xFF\r\n\"", replace, "[a.csv:2|a\uFFFD\r\n]"},
	} {
		tree(t, map[string]string{test.name: test.text})
		cfg := config(test.name)
		test.set(&cfg)
		got, err := all(cfg, nil)
		if bad := strings.Contains(test.text, `DE0\u`); got != test.want || (err != nil) != bad {
			t.Errorf("%q: got %q, %v, want %q", test.text, got, err, test.want)
		}
	}
	tree(t, map[string]string{"a.txt": "a\nb\x00"})
	cfg := config("a.txt")
	cfg.NUL = "fail"
	if _, err := all(cfg, nil); err == nil || !strings.HasPrefix(err.Error(), "a.txt:2: there is a NUL byte at offset 3") || !strings.Contains(err.Error(), "--set data.nul=drop") {
		t.Errorf("error %v", err)
	}
}

// FuzzClean cleans a text in two stretches: the text is that of the whole, valid, and as package bytes has it.
func FuzzClean(f *testing.F) {
	f.Add([]byte("a\xFF\xFE\xE2\x82\xACb\r\n\x00"), 3, false, false)
	f.Add([]byte("\xE2\x82"), 1, true, true)
	f.Add([]byte("a\r\nb"), 2, false, true)
	f.Fuzz(func(t *testing.T, text []byte, at int, drop, fold bool) {
		if at < 0 || at > len(text) {
			return
		}
		rule := policy{invalid: "replace", nul: "keep", fold: fold}
		if drop {
			rule.invalid, rule.nul = "drop", "drop"
		}
		c := cleaner{policy: rule}
		got, used, err := c.clean(nil, text[:at], false)
		if err != nil || at-used > 3 {
			t.Fatalf("%d of %d bytes were used, %v", used, at, err)
		}
		if got, _, err = c.clean(got, text[used:], true); err != nil {
			t.Fatal(err)
		}
		want := bytes.ToValidUTF8(text, map[bool][]byte{false: replacement, true: nil}[drop])
		if drop {
			want = bytes.ReplaceAll(want, []byte{0}, nil)
		}
		if fold && !drop { // dropped bytes can bring CR and LF together, which then are no line end of the file
			want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))
		}
		if !(fold && drop) && !bytes.Equal(got, want) || !utf8.Valid(got) {
			t.Fatalf("%q at %d: got %q, want %q", text, at, got, want)
		}
	})
}

// TestCutBetweenStretches cuts near the place where one stretch ends and the next begins: where the whole text would be cut.
func TestCutBetweenStretches(t *testing.T) {
	small(t, 1<<16, 1<<20)
	text := strings.Repeat(strings.Repeat("é", 350)+"x\n", 300)
	tree(t, map[string]string{"a.txt": text})
	for at := 1<<16 - 1400; at < 1<<16+1400; at += 61 {
		cfg := config("a.txt")
		cfg.Val.Fraction = 1 - float64(at)/float64(len(text))
		c, err := Open(cfg, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		want := cutNear([]byte(text), int(float64(len(text))-float64(len(text))*cfg.Val.Fraction+0.5))
		if docs := collect(t, c, Val); len(docs) == 0 || docs[0].Offset != int64(want) {
			t.Errorf("cut at %d, want %d", docs[0].Offset, want)
		}
	}
}
