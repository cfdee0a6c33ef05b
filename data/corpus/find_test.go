package corpus

import (
	"errors"
	"os"
	"strings"
	"testing"

	"prenorm/data"
)

// TestFind wants every missing text, each with its setting, and the bytes of what is there, each file once.
func TestFind(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"a.txt": "four", "b.txt": "sixsix", "empty.txt": ""} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		train, val string
		size       int64
		want       string
	}{
		{"a.txt b.txt", "", 10, ""},
		{"a.txt *.txt", "b.txt", 10, ""},
		{"- nothing.txt", "a.txt", 4, ""},
		{"gone.txt a.txt x*.txt", "lost.txt $NOT_SET_ANYWHERE/x", 4, "data.train gone.txt|data.train x*.txt|data.val.files lost.txt|data.val.files $NOT_SET_ANYWHERE/x"},
		{"empty.txt", "a.txt", 4, "data.train empty.txt"},
	} {
		size, missing := Find(data.Config{Train: strings.Fields(c.train), Val: data.Val{Files: strings.Fields(c.val)}})
		var got []string
		for _, m := range missing {
			name, _, _ := strings.Cut(m.Err.Error(), " ")
			got = append(got, m.Key+" "+strings.TrimSuffix(name, ":"))
		}
		if size != c.size || strings.Join(got, "|") != c.want {
			t.Errorf("%s and %s: %d bytes, missing %q, want %d and %q", c.train, c.val, size, got, c.size, c.want)
		}
	}
	several := data.Config{Sources: []data.Source{{Name: "one", Train: []string{"a.txt"}, Val: []string{"b.txt"}}, {Name: "two", Train: []string{"lost.txt"}, Val: []string{"gone.txt"}}}}
	if size, missing := Find(several); size != 10 || len(missing) != 2 || missing[0].Key != "data.sources" || !errors.Is(missing[1].Err, ErrNoText) ||
		!strings.HasPrefix(missing[0].Err.Error(), "two: lost.txt") || !strings.HasPrefix(missing[1].Err.Error(), "two: gone.txt") {
		t.Errorf("%d bytes, missing %v", size, missing)
	}
	if _, missing := Find(data.Config{Train: []string{"gone.txt"}}); len(missing) != 1 || !errors.Is(missing[0].Err, ErrNoText) {
		t.Errorf("missing: %v", missing)
	}
}
