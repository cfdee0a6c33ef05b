package corpus

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"prenorm/data"
)

// lacking is the first of some parts that a message does not have.
func lacking(message string, parts ...string) string {
	for _, part := range parts {
		if !strings.Contains(message, part) {
			return part
		}
	}
	return ""
}

// refused wants an error of opening or scanning that says all parts.
func refused(t *testing.T, cfg data.Config, stdin string, parts ...string) {
	t.Helper()
	c, err := Open(cfg, strings.NewReader(stdin), "")
	if err == nil {
		_, _, err = c.Scan(nil)
		c.Close()
	}
	if err == nil {
		t.Errorf("%v and %v are read", cfg.Train, cfg.Val.Files)
	} else if part := lacking(err.Error(), parts...); part != "" {
		t.Errorf("error %v lacks %q", err, part)
	}
}

// TestOtherKinds names files of kinds that are not read: the message says what to do, and what is read.
func TestOtherKinds(t *testing.T) {
	all := "read are .jsonl, .ndjson, .csv, .tsv, .parquet, .tar, and everything else as plain text, alone or with .gz or .zst"
	tree(t, map[string]string{
		"a.zip": "x", "a.7z": "x", "a.txt.xz": "x", "a.tar.bz2": "x", "a.TBZ2": "x", "a.txz": "x", "a.lz4": "x",
		"zips/a.zip": "x", "zips/b.zip": "x", "json/a.json": "[]", "other/a.bin": "x", "mixed/a.txt": "text", "mixed/b.txt.bz2": "x", "mixed/.c.zip": "x",
		"kinds/a.txt": "text", "kinds/q.zip": "x", "kinds/r.zip": "x", "kinds/z.json": "[]",
		"code/a.html": "x", "code/b.rst": "x", "code/sub/a.py": "x", "code/sub/b.py": "x", "code/README.md": "text", "code/LICENSE": "x", "code/z.log": "x", "code/.d.py": "x",
		"a.tar": archive(t, "b.bin", "x", "c.json", "[]", "d.xz", "x"), "a.json": "[1, 2]", "b.json": "{}", "c.json.gz": gz(t, "[]"),
	})
	for _, test := range []struct {
		name  string
		parts []string
	}{
		{"a.zip", []string{"data.train: a.zip is of a kind that is not read: unpack it and name the folder, or name another text with --set data.train=PATH", all}},
		{"a.7z", []string{"unpack it and name the folder"}},
		{"a.txt.xz", []string{"pack it anew (xz -dc a.txt.xz | zstd > a.txt.zst)", all}},
		{"a.tar.bz2", []string{"(bzip2 -dc a.tar.bz2 | zstd > a.tar.zst)"}},
		{"*.TBZ2", []string{"(bzip2 -dc a.TBZ2 | zstd > a.tar.zst)"}},
		{"a.txz", []string{"(xz -dc a.txz | zstd > a.tar.zst)"}},
		{"a.lz4", []string{"(lz4 -dc a.lz4 | zstd > a.zst)"}},
		{"zips", []string{"holds no .txt", "; zips/a.zip (and 1 file more) is passed over: unpack it", "another folder with --set data.train=PATH"}},
		{"json", []string{"holds no .txt", "; json/a.json is passed over: make a line of each record (jq -c '.[]' json/a.json > json/a.jsonl)"}},
		{"other", []string{"behind it; 1 file of another name is passed over (.bin): token files are named by themselves: name a file or another folder"}},
		{"a.tar", []string{"a.tar: the archive holds no .txt", "; c.json is passed over: make a line of each record"}},
	} {
		refused(t, config(test.name), "", test.parts...)
	}
	for name, want := range map[string]string{
		"mixed":                         "data.train: mixed/b.txt.bz2 is passed over: pack it anew (bzip2 -dc mixed/b.txt.bz2 | zstd > mixed/b.txt.zst)",
		"kinds":                         "data.train: kinds/q.zip (and 1 file more) is passed over: unpack it and name the folder; kinds/z.json is passed over: make a line of each record (jq -c '.[]' kinds/z.json > kinds/z.jsonl)",
		"code":                          "data.train: 6 files of other names are passed over (.py, LICENSE, .html, .rst, …): a glob 'code/sub/*.py' reads such files of a folder",
		"a.json":                        "data.train: a.json is read as plain text, brackets and all: if it is a list of records, make a line of each record (jq -c '.[]' a.json > a.jsonl)",
		"a.json b.json":                 "data.train: a.json (and 1 file more) is read as plain text, brackets and all: if it is a list of records, make a line of each record (jq -c '.[]' a.json > a.jsonl)",
		"c.json.gz":                     "data.train: c.json.gz is read as plain text, brackets and all: if it is a list of records, make a line of each record (gzip -dc c.json.gz | jq -c '.[]' > c.jsonl)",
		"mixed/a.txt":                   "",
		"mixed/a.txt json/a.json=jsonl": "",
	} {
		name, format, _ := strings.Cut(name, "=")
		cfg := config(strings.Fields(name)...)
		if format != "" {
			cfg.Format = format
		}
		c, err := Open(cfg, nil, "")
		if err != nil || c.Note() != want {
			t.Errorf("%s: note %q, %v, want %q", name, c.Note(), err, want)
		}
	}
}

// TestNamedAgain wants a word on files that are named more than once, of every list by itself.
func TestNamedAgain(t *testing.T) {
	tree(t, sample)
	cfg := config("deep", "deep/z.md", "a.txt")
	cfg.Val.Files = []string{"b.txt", "b.txt", "[bd]*.txt", "deep-er.txt"}
	c, err := Open(cfg, nil, "")
	const passed = "data.train: 1 file of another name is passed over (.bin): token files are named by themselves"
	want := passed + "\ndata.train names deep/z.md more than once: it counts once\ndata.val.files names b.txt (and 2 files more) more than once: it counts once"
	if err != nil || c.Note() != want {
		t.Errorf("note %q, %v, want %q", c.Note(), err, want)
	}
	cfg.Train, cfg.Val.Files = []string{"deep", "a.txt"}, []string{"a.txt"}
	if c, err = Open(cfg, nil, ""); err != nil || c.Note() != passed {
		t.Errorf("note %q, %v", c.Note(), err)
	}
}

// TestPassedOver wants nothing said of files that another pattern of the list reads, and no advice to read as text what is none.
func TestPassedOver(t *testing.T) {
	tree(t, map[string]string{
		"d/a.txt": "text", "d/b.py": "x", "d/sub/c.py": "x", "d/e.pdf": "x", "d/f.PNG": "x", "d/g.npy.gz": "x", "d/h.bin": "x", "d/i.bin": "x", "d/j.json": "[]",
		"pdf/a.txt": "text", "pdf/b.pdf": "x", "bin/a.txt": "text", "bin/b.bin": "x",
	})
	const none = "3 files of other names are passed over (.pdf, .PNG, .gz)"
	const ids = "2 files of other names are passed over (.bin): token files are named by themselves"
	const json = "d/j.json is passed over: make a line of each record (jq -c '.[]' d/j.json > d/j.jsonl)"
	for patterns, want := range map[string]string{
		"d":                      "data.train: " + json + "; 2 files of other names are passed over (.py): a glob 'd/*.py' reads such files of a folder; " + ids + "; " + none,
		"d d/*.py d/j.json":      "data.train: 1 file of another name is passed over (.py): a glob 'd/sub/*.py' reads it; " + ids + "; " + none,
		"d/*.py d d/sub/*.py":    "data.train: " + json + "; " + ids + "; " + none,
		"pdf":                    "data.train: 1 file of another name is passed over (.pdf)",
		"pdf pdf/*.pdf":          "",
		"pdf bin":                "data.train: 1 file of another name is passed over (.pdf)\ndata.train: 1 file of another name is passed over (.bin): token files are named by themselves",
		"pdf bin/*.txt pdf/*pdf": "",
	} {
		c, err := Open(config(strings.Fields(patterns)...), nil, "")
		if err != nil {
			t.Errorf("%s: %v", patterns, err)
			continue
		}
		if got, _, _ := strings.Cut(c.Note(), "\ndata.train: d/j.json is read as plain text"); got != want {
			t.Errorf("%s: note %q, want %q", patterns, got, want)
		}
	}
}

// TestLinksToNothing wants the link named, wherever it is.
func TestLinksToNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	tree(t, map[string]string{"d/a.txt": "text"})
	for _, path := range []string{"d/b.txt", "c.md"} {
		if err := os.Symlink("nowhere.txt", path); err != nil {
			t.Fatal(err)
		}
	}
	in := "b.txt is a link to nowhere.txt, which is not there: remove the link"
	refused(t, config("d"), "", "data.train: d: d/"+in)
	refused(t, config("d/*"), "", "data.train: d/*: d/"+in)
	refused(t, config("d/b.txt"), "", "data.train: d/b.txt (", "d/"+in, "--set data.train=PATH")
	refused(t, config("c.md"), "", "c.md is a link to nowhere.txt")
}

// TestEmptyTexts wants files without text named, whatever divides them.
func TestEmptyTexts(t *testing.T) {
	tree(t, map[string]string{"d/empty.txt": "", "a.txt.gz": gz(t, ""), "a.jsonl": "{\"text\": \"\"}\n\n", "b.jsonl": "{\"text\": null}\n", "c.txt": "some text"})
	refused(t, config("d"), "", "data.train: d: the file is empty (d/empty.txt): name a text with --set data.train=PATH")
	refused(t, config("-"), "", "data.train: -: standard input is empty: name a text")
	refused(t, config("-"), "\xEF\xBB\xBF", "standard input is empty")
	for _, by := range []string{"auto", "hash", "end"} {
		cfg := config("a.txt.gz")
		cfg.Val.By = by
		refused(t, cfg, "", "data.train: there is no text in a.txt.gz, though there are bytes: name another text with --set data.train=PATH")
		cfg.Train = []string{"a.jsonl", "b.jsonl"}
		refused(t, cfg, "", "data.train: there is no text in a.jsonl (and 1 file more), though there are bytes")
	}
	cfg := config("c.txt")
	cfg.Val.Files = []string{"b.jsonl"}
	refused(t, cfg, "", "data.val.files: there is no text in b.jsonl, though there are bytes: name another text with --set data.val.files=PATH")
}

// TestAllCopies wants to be told of copies where nothing else is left.
func TestAllCopies(t *testing.T) {
	text := strings.Repeat("the same text, word by word. ", 10)
	tree(t, map[string]string{"a.txt": text, "b.txt": text, "c.txt": text})
	cfg := config("a.txt", "b.txt")
	cfg.Duplicates, cfg.Val.Files = "drop_exact", []string{"c.txt"}
	refused(t, cfg, "", "data.train: no document is left of a.txt (and 1 file more) (2 documents of 3 left out as copies of earlier ones (data.duplicates: drop_exact)): name another text", "--set data.duplicates=keep")
	cfg.Val = data.Val{By: "hash", Fraction: 0.1}
	cfg.Train = []string{"a.txt", "b.txt", "c.txt"}
	refused(t, cfg, "", "dividing 1 document (2 documents of 3 left out as copies of earlier ones (data.duplicates: drop_exact)) by hash at fraction 0.1 leaves no validation text")
	if err := os.WriteFile("d.txt", []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("e.txt", []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	cfg.Val.By, cfg.Train = "end", []string{"d.txt", "e.txt"}
	refused(t, cfg, "", "leaves no validation text (1 document of 2 left out as copies", "use a longer text")
}

// TestShares wants a word on a validation text that is not the share that was asked for.
func TestShares(t *testing.T) {
	long := strings.Repeat("a line of a long text\n", 1000)
	files := map[string]string{"d/a.txt": long, "e.txt": long, "f.txt.gz": gz(t, long)}
	for i := range 50 {
		files[fmt.Sprintf("d/b%d.txt", i)] = fmt.Sprint(10 + i)
	}
	tree(t, files)
	fraction := 0.9 // how much has to be for validation for the long text to be there
	for hashSide([]byte(long), fraction-0.01) == Val {
		fraction -= 0.01
	}
	for _, test := range []struct {
		train    string
		fraction float64
		by       string
		parts    []string
	}{
		{"d", fraction, "hash", []string{"of data.val.fraction: whole documents are divided by their hash (data.val.by: hash)", "--set data.val.by=end", "(data.val.files)", "of 22100 bytes", "of 51 documents)"}},
		{"d", fraction, "end", nil},
		{"e.txt", 0.1, "auto", nil},
		{"e.txt", 0.5, "auto", nil},
		{"e.txt f.txt.gz", 0.1, "end", []string{"the validation text is 5", "not the 10% of data.val.fraction: the end is found by the sizes of the files on disk"}},
	} {
		cfg := config(strings.Fields(test.train)...)
		cfg.Val.By, cfg.Val.Fraction = test.by, test.fraction
		c, err := Open(cfg, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if c.Note() != "" {
			t.Errorf("%s: note %q before anything is known", test.train, c.Note())
		}
		if _, _, err := c.Scan(nil); err != nil {
			t.Fatal(err)
		}
		if part := lacking(c.Note(), test.parts...); part != "" || len(test.parts) == 0 && c.Note() != "" {
			t.Errorf("%+v: note %q lacks %q", test, c.Note(), part)
		}
	}
}

// TestHintsOfSources wants messages on a text of several to name the source and its lists, and no setting of the only text.
func TestHintsOfSources(t *testing.T) {
	tree(t, map[string]string{"a.txt": "text", "empty.txt": "", "bare/x.bin": "x", "a.zip": "x", "b.jsonl": "\n"})
	for _, test := range []struct{ train, val, want string }{
		{"", "", "train: no text is named"},
		{"gone.txt", "", "train: gone.txt ("},
		{"gone*", "", "train: gone* ("},
		{"$NOT_SET_ANYWHERE/x", "", "train: $NOT_SET_ANYWHERE/x: "},
		{"empty.txt", "", "train: empty.txt: the file is empty"},
		{"bare", "", "train: bare ("},
		{"a.zip", "", "train: a.zip is of a kind"},
		{"a.txt", "gone.txt", "val: gone.txt ("},
		{"a.txt", "a.txt", "train: every file is named by val too"},
		{"b.jsonl", "", "train: there is no text in b.jsonl"},
		{"b.jsonl", "a.txt", "train: there is no text in b.jsonl"},
		{"a.txt", "b.jsonl", "val: there is no text in b.jsonl"},
	} {
		cfg := config(strings.Fields(test.train)...)
		cfg.Val.Files = strings.Fields(test.val)
		c, err := OpenSource("two", cfg, nil, "")
		if err == nil {
			_, _, err = c.Scan(nil)
		}
		list := "train"
		if strings.HasPrefix(test.want, "val") || strings.Contains(test.want, "every") {
			list = "val"
		}
		if err == nil || !strings.HasPrefix(err.Error(), test.want) || !strings.Contains(err.Error(), "in "+list+" of source two") || strings.Contains(err.Error(), "--set data.") {
			t.Errorf("%q and %q: error %v, want %q", test.train, test.val, err, test.want)
		}
		found := data.Config{Sources: []data.Source{{Name: "two", Train: cfg.Train, Val: cfg.Val.Files}}}
		for _, m := range func() []Missing { _, m := Find(found); return m }() {
			if !strings.HasPrefix(m.Err.Error(), "two: ") || !strings.Contains(m.Err.Error(), "in "+list+" of source two") {
				t.Errorf("%q and %q: missing %v", test.train, test.val, m)
			}
		}
	}
	tree(t, map[string]string{"a.txt": "a", "b.txt": "b", "c.txt": "c"})
	for by, want := range map[string]string{"hash": "or name validation files (val of source two)", "end": "or name validation files (val of source two)", "": "files of its own (val of source two)"} {
		cfg := config("a.txt")
		cfg.Val.By = by
		if by == "" {
			cfg.Val.Fraction = 2
		}
		c, err := OpenSource("two", cfg, nil, "")
		if err == nil {
			_, _, err = c.Scan(nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "data.val.files") {
			t.Errorf("%s: %v", by, err)
		}
	}
}
