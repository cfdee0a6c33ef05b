package corpus

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"prenorm/data"
)

// tree writes files below a new folder, which becomes the working directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return dir
}

// config is the default with the given training patterns.
func config(train ...string) data.Config {
	c := data.Default()
	c.Train = train
	return c
}

func names(c *Corpus) []string {
	var list []string
	for _, f := range c.Files(Train) {
		list = append(list, filepath.ToSlash(f.Name))
	}
	return list
}

var sample = map[string]string{
	"b.txt": "b", "a.txt": "a", "notes.go": "go", "empty.txt": "", "bom.txt": "\xEF\xBB\xBF",
	"deep/z.md": "z", "deep/er/y.TXT": "y", "deep/.hidden/x.txt": "x", "deep/.x.txt": "x", "deep/skip.bin": "x",
	"[odd].txt": "odd", "deep-er.txt": "d",
}

func TestResolve(t *testing.T) {
	dir := tree(t, sample)
	t.Setenv("CORPUS_HERE", dir)
	for _, test := range []struct{ patterns, want string }{
		{"a.txt", "a.txt"},
		{"b.txt a.txt", "b.txt a.txt"}, // patterns keep their order
		{"*.txt", "[odd].txt a.txt b.txt deep-er.txt"},
		{"[d]*", "deep-er.txt deep/er/y.TXT deep/z.md"}, // sorted by path, whatever the order of the walk
		{"notes.go", "notes.go"},                        // a named file may have any extension
		{"deep", "deep/er/y.TXT deep/z.md"},
		{"deep/ deep/z.md ./deep/../deep/z.md", "deep/er/y.TXT deep/z.md"}, // each file once
		{"[odd].txt", "[odd].txt"},
		{"[ab].txt", "a.txt b.txt"},
		{"$CORPUS_HERE/b.txt ${CORPUS_HERE}/deep", "b.txt deep/er/y.TXT deep/z.md"},
		{"deep/* a.txt", "deep/.hidden/x.txt deep/.x.txt deep/er/y.TXT deep/skip.bin deep/z.md a.txt"}, // unlike a shell's, a glob matches hidden names
		{"empty.txt bom.txt a.txt", "a.txt"},
		{".", "[odd].txt a.txt b.txt deep-er.txt deep/er/y.TXT deep/z.md"},
	} {
		c, err := Open(config(strings.Fields(test.patterns)...), nil, "")
		if err != nil {
			t.Errorf("%s: %v", test.patterns, err)
			continue
		}
		if got := strings.Join(names(c), " "); got != test.want {
			t.Errorf("%s: got %s, want %s", test.patterns, got, test.want)
		}
	}
}

func TestResolveLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	dir := tree(t, sample)
	for link, to := range map[string]string{"linked": "deep", "same.txt": "a.txt", "deep/loop": "."} {
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Open(config("linked", "deep", "same.txt", "a.txt"), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"linked/er/y.TXT", "linked/z.md", "same.txt"}
	if got := names(c); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestResolveErrors(t *testing.T) {
	dir := tree(t, sample)
	if err := os.Mkdir("bare", 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CORPUS_EMPTY", "")
	for _, test := range []struct {
		patterns string
		want     []string
	}{
		{"", []string{"data.train", "no text is named", "--set data.train=PATH"}},
		{"a.txt missing.txt", []string{"data.train: missing.txt (" + filepath.Join(dir, "missing.txt") + ")", "no such file", "--set data.train=PATH"}},
		{"*.json", []string{"data.train: *.json (" + filepath.Join(dir, "*.json") + ")", "nothing matches", "--set data.train=PATH"}},
		{"bare", []string{"data.train: bare", "no .txt or .md", "--set data.train=PATH"}},
		{"empty.txt", []string{"the file is empty", "--set data.train=PATH"}},
		{"empty.txt bom.txt", []string{"empty.txt, bom.txt", "all 2 files are empty", "--set data.train=PATH"}},
		{"$CORPUS_EMPTY/a.txt", []string{"$CORPUS_EMPTY/a.txt", "no CORPUS_EMPTY", "--set data.train=PATH"}},
		{"[a.txt", []string{"[a.txt", "glob"}},
		{"-", []string{"standard input", "--set data.train=PATH"}},
	} {
		_, err := Open(config(strings.Fields(test.patterns)...), nil, "")
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error %v, want it to say %q", test.patterns, err, want)
			}
		}
	}
}

func TestGoRoot(t *testing.T) {
	t.Setenv("GOROOT", "")
	c, err := Open(config("$GOROOT/LICENSE"), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if f := c.Files(Train); len(f) != 1 || f[0].Size < 1000 {
		t.Errorf("files %+v", f)
	}
	if _, err := Open(config("$GOROOT/no such text"), nil, ""); err == nil || !strings.Contains(err.Error(), "data.train: $GOROOT/no such text (") {
		t.Errorf("error %v", err)
	}
}
