package corpus

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
)

// sparse makes the only member of an archive, a file of 5 bytes, a sparse file in GNU's old form.
func sparse(t *testing.T, name string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o666, Size: 5, Format: tar.FormatGNU}); err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "holes")
	w.Flush()
	head := out.Bytes()[:512]
	head[156] = tar.TypeGNUSparse
	copy(head[386:], fmt.Sprintf("%011o\x00%011o\x00", 0, 5)) // the only piece
	copy(head[483:], fmt.Sprintf("%011o\x00", 5))
	copy(head[148:], "        ")
	sum := 0
	for _, b := range head {
		sum += int(b)
	}
	copy(head[148:], fmt.Sprintf("%06o\x00 ", sum))
	return out.Bytes()
}

// TestMembersOfOtherTypes wants a word on links and sparse files in an archive, whose names are those of texts.
func TestMembersOfOtherTypes(t *testing.T) {
	var links bytes.Buffer
	w := tar.NewWriter(&links)
	for _, h := range []tar.Header{
		{Name: "d.txt/", Typeflag: tar.TypeDir}, {Name: "pipe.txt", Typeflag: tar.TypeFifo}, {Name: ".hidden.txt", Typeflag: tar.TypeSymlink, Linkname: "b.txt"},
		{Name: "soft.py", Typeflag: tar.TypeSymlink, Linkname: "b.txt"}, {Name: "soft.txt", Typeflag: tar.TypeSymlink, Linkname: "b.txt"}, {Name: "hard.txt", Typeflag: tar.TypeLink, Linkname: "b.txt"},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	w.Flush()
	rest := archive(t, "b.txt", "a text")
	tree(t, map[string]string{
		"val.txt": "another text", "links.tar": links.String() + rest, "sparse.tar": string(sparse(t, "s.txt")) + rest,
		"only.tar": string(sparse(t, "s.txt")) + archive(t, "b.py", "x"),
	})
	for name, want := range map[string]string{
		"links.tar":  "2 archive members of another type (the first at links.tar:soft.txt) are passed over, as links and sparse files are: unpack the archive and name its folder",
		"sparse.tar": "1 archive member of another type (at sparse.tar:s.txt) is passed over, as links",
	} {
		if note, found := noteOf(t, name, "fail", "keep"); !strings.Contains(note, want) || strings.Count(note, "\n") > 0 {
			t.Errorf("%s: note %q, %+v, want %q", name, note, found.Odd, want)
		}
		if got, err := all(config(name), nil); err != nil || got != "["+name+":b.txt|a text]" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	refused(t, config("only.tar"), "", "only.tar: the archive holds no .txt", "; s.txt is passed over, a link or sparse file: unpack the archive and name its folder")
}

// TestLinksToFolders wants a word on links in a folder that are not gone into, and none where what they lead to is read anyway.
func TestLinksToFolders(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	tree(t, map[string]string{"one/a.txt": "a", "two/a.txt": "a", "loop/b/a.txt": "a", "code/a.txt": "a", "out/b.txt": "b", "out/c.py": "c"})
	for link, to := range map[string]string{
		"one/link": "../out", "two/link": "../out", "two/more.txt": "../out", "two/.hidden": "../out", "loop/b/up": "..", "loop/same": "b", "code/c.py": "../out/c.py", "code/gone.py": "nowhere",
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"one":  "data.train: 1 link to a folder is passed over (one/link): name it too, and its files are read",
		"two":  "data.train: 2 links to folders are passed over (two/link, …): name them too, and their files are read",
		"loop": "",
		"code": "data.train: 1 file of another name is passed over (.py): a glob 'code/*.py' reads it",
	} {
		c, err := Open(config(name), nil, "")
		if err != nil || c.Note() != want || len(c.Files(Train)) != 1 {
			t.Errorf("%s: %v, %v, note %q, want %q", name, names(c), err, c.Note(), want)
		}
	}
	for pattern, want := range map[string]string{"one/link": "", "out": "", "out/*.txt": "data.train: 1 link to a folder is passed over (one/link)"} {
		if c, err := Open(config("one", pattern, "out/*.py"), nil, ""); err != nil || !strings.HasPrefix(c.Note(), want) || want == "" && c.Note() != "" {
			t.Errorf("one, %s: %v, note %q, want %q", pattern, err, c.Note(), want)
		}
	}
}

// TestOneFileByTwoNames reads a file that is named by itself and by a link, or by two links, once.
func TestOneFileByTwoNames(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	tree(t, map[string]string{"a.txt": "a text", "d/c.txt": "another"})
	for link, to := range map[string]string{"b.txt": "a.txt", "e": "d", "f.txt": "b.txt"} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	for patterns, want := range map[string]string{
		"a.txt b.txt": "a.txt | data.train names b.txt more than once: it counts once", "b.txt f.txt": "b.txt | data.train names f.txt more than once: it counts once",
		"d e": "d/c.txt | data.train names e/c.txt more than once: it counts once", "*.txt": "a.txt | data.train names b.txt (and 1 file more) more than once: it counts once",
	} {
		c, err := Open(config(strings.Fields(patterns)...), nil, "")
		if err != nil {
			t.Error(err)
			continue
		}
		if got := strings.Join(names(c), " ") + " | " + c.Note(); got != want {
			t.Errorf("%s: %q, want %q", patterns, got, want)
		}
	}
}
