package problem

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMeantPath(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"quickstart", "book.txt", ".hidden"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"quikstart": "quickstart", "quickstart_": "quickstart", "bok.txt": "book.txt", "QUICKSTART": "quickstart",
		"quickstart": "", "hidden": "", "other": "", "": "", filepath.Join("none", "quikstart"): "",
	} {
		if want != "" {
			want = " (did you mean " + filepath.Join(dir, want) + "?)"
		}
		if got := MeantPath(filepath.Join(dir, name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	t.Chdir(dir)
	for _, path := range []string{"bok.txt", "./bok.txt"} {
		if got := MeantPath(path); got != " (did you mean book.txt?)" {
			t.Errorf("%s: %q", path, got)
		}
	}
}
