package corpus

import (
	"strings"
	"testing"
	"unicode/utf16"
)

// noteOf scans a text and returns what is told of it and what was found.
func noteOf(t *testing.T, file, invalid, nul string) (string, Found) {
	t.Helper()
	cfg := config(file)
	cfg.Invalid, cfg.NUL, cfg.Val.Files = invalid, nul, []string{"val.txt"}
	c, err := Open(cfg, nil, "")
	if err == nil {
		_, _, err = c.Scan(nil)
	}
	if err != nil {
		t.Fatal(file, err)
	}
	defer c.Close()
	return c.Note(), c.Found()
}

// TestOdd counts what a text should hardly have, in stretches and rows, and names its first place.
func TestOdd(t *testing.T) {
	small(t, 100, 1<<20)
	line := strings.Repeat("a line of text ", 10) + "\n"
	wide := ""
	for _, unit := range utf16.Encode([]rune(strings.Repeat("ab\n", 1000))) {
		wide += string([]byte{byte(unit), byte(unit >> 8)})
	}
	tree(t, map[string]string{
		"val.txt": "another text", "plain.txt": line, "wide.txt": wide, "nul.txt": line + line + "\x00b\xffc\x00\n" + line + "\x00",
		"bad.txt": line + "\xff\xfe\xfd a \xe9 b" + strings.Repeat("x", 300) + "\xff", "a.jsonl": "{\"text\": \"one\"}\n{\"text\": \"\\u0000 \\ud800 \xff\"}\n",
		"a.tar": archive(t, "b.txt", "a text", "c.py", "x", "d.zip", "x", ".e.py", "x"),
	})
	for _, test := range []struct{ file, invalid, nul, want string }{
		{"plain.txt", "fail", "keep", ""},
		{"wide.txt", "fail", "keep", "3000 NUL characters (the first at wide.txt:1) are in the text: files in UTF-16"},
		{"wide.txt", "fail", "drop", "3000 NUL characters (the first at wide.txt:1) are left out (data.nul: drop)"},
		{"nul.txt", "replace", "keep", "3 NUL characters (the first at nul.txt:3) are in the text"},
		{"nul.txt", "replace", "keep", "\n1 run of bytes that are not UTF-8 (at nul.txt:3) is read as U+FFFD (data.invalid_utf8: replace)"},
		{"bad.txt", "replace", "keep", "3 runs of bytes that are not UTF-8 (the first at bad.txt:2) are read as U+FFFD"},
		{"bad.txt", "drop", "keep", "3 runs of bytes that are not UTF-8 (the first at bad.txt:2) are left out (data.invalid_utf8: drop)"},
		{"a.jsonl", "drop", "drop", "1 NUL character (at a.jsonl:2) is left out (data.nul: drop)"},
		{"a.jsonl", "replace", "keep", "2 runs of bytes that are not UTF-8 (the first at a.jsonl:2)"},
		{"a.tar", "fail", "keep", "2 archive members of another name (the first at a.tar:c.py) are passed over: unpack the archive"},
	} {
		if note, found := noteOf(t, test.file, test.invalid, test.nul); !strings.Contains(note, test.want) || (test.want == "") != (found.Odd == Odd{}) {
			t.Errorf("%+v: note %q, %+v", test, note, found.Odd)
		}
	}
}

// TestOddIsCountedOnce divides a text in ways that read it more than once.
func TestOddIsCountedOnce(t *testing.T) {
	small(t, 100, 1<<20)
	tree(t, map[string]string{"a.txt": strings.Repeat("some text\x00 of a line\n", 100), "b.txt": "\x00 another"})
	for _, by := range []string{"end", "hash", "auto"} {
		cfg := config("a.txt", "b.txt")
		cfg.Val.By, cfg.Val.Fraction = by, 0.2
		c, err := Open(cfg, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, _, err = c.Scan(nil)
			if found := c.Found().Odd.NUL; err == nil && found != (Seen{101, "a.txt:1"}) {
				t.Errorf("%s: %+v", by, found)
			}
		}
		if err != nil && by != "hash" { // which may leave a side empty
			t.Error(by, err)
		}
	}
}

// TestOddOfTexts counts in texts that nobody scans, in every pass that comes to its end, documents in stretches included.
func TestOddOfTexts(t *testing.T) {
	small(t, 100, 1<<20)
	tree(t, map[string]string{"a.txt": strings.Repeat("some text\x00 of a line\n", 100), "b.txt": "\xfd\xfc another \xff", "c.txt": "an end"})
	cfg := config()
	cfg.Invalid = "replace"
	c, err := Texts([]string{"a.txt", "b.txt", "c.txt"}, cfg, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for pass := range 3 {
		for d, err := range c.Documents(Train) {
			if err != nil {
				t.Fatal(err)
			}
			if pass == 1 && d.Name == "b.txt" { // which leaves what is known
				break
			}
		}
		if found := c.Found().Odd; found != (Odd{NUL: Seen{100, "a.txt:1"}, Invalid: Seen{2, "b.txt:1"}}) {
			t.Errorf("pass %d: %+v", pass, found)
		}
		if note := c.Note(); !strings.Contains(note, "100 NUL characters (the first at a.txt:1) are in the text") || !strings.Contains(note, "2 runs of bytes that are not UTF-8 (the first at b.txt:1) are read as U+FFFD") {
			t.Errorf("pass %d: %q", pass, note)
		}
	}
}

// TestNothingNewInValidation wants a word where all documents are one, and where the validation text is the training text.
func TestNothingNewInValidation(t *testing.T) {
	row := "{\"text\": \"the same text\"}\n"
	tree(t, map[string]string{"same.jsonl": strings.Repeat(row, 20), "nearly.jsonl": strings.Repeat(row, 20) + "{\"text\": \"another\"}\n", "one.txt": "one text\n", "copy.txt": "one text\n", "other.txt": "no text\n"})
	for _, test := range []struct{ train, val, duplicates, want string }{
		{"same.jsonl", "", "keep", "all documents have the same bytes: a loss of validation tells nothing of other text"},
		{"nearly.jsonl", "", "keep", "90.3% of the validation text (5 of 6 documents that were compared) stands in the training text"},
		{"one.txt", "copy.txt", "keep", "the validation text is the training text, document by document: a loss of validation tells nothing"},
		{"one.txt", "other.txt", "keep", ""},
	} {
		cfg := config(test.train)
		cfg.Duplicates = test.duplicates
		if test.val != "" {
			cfg.Val.Files = []string{test.val}
		} else {
			cfg.Val.By, cfg.Val.Fraction = "end", 0.3
		}
		c, err := Open(cfg, nil, "")
		if err == nil {
			_, _, err = c.Scan(nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if note := c.Note(); !strings.Contains(note, test.want) || test.want == "" && strings.Contains(note, "tells nothing") {
			t.Errorf("%+v: note %q", test, note)
		}
	}
}
