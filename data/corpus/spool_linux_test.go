package corpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNothingIsLeftOpen has errors after a long standard input was read.
func TestNothingIsLeftOpen(t *testing.T) {
	small(t, 10, 1<<20)
	tree(t, map[string]string{"a.txt": "text"})
	long := strings.Repeat("long ", 100)
	separate := config("-")
	separate.Val.Files = []string{"gone.txt"}
	first := config("-", "gone.txt")
	divided := config("a.txt")
	divided.Val.Files = []string{"-", "gone.txt"}
	for _, open := range []func() (*Corpus, error){
		func() (*Corpus, error) { return Open(separate, strings.NewReader(long), "") },
		func() (*Corpus, error) { return Open(first, strings.NewReader(long), "") },
		func() (*Corpus, error) { return Open(divided, strings.NewReader(long), "") },
		func() (*Corpus, error) { return Texts(first.Train, first, strings.NewReader(long), "") },
	} {
		if _, err := open(); err == nil || !strings.Contains(err.Error(), "gone.txt") {
			t.Errorf("error %v", err)
		}
		links, err := filepath.Glob("/proc/self/fd/*")
		if err != nil || len(links) == 0 {
			t.Fatal(links, err)
		}
		for _, link := range links {
			if to, err := os.Readlink(link); err == nil && strings.Contains(to, "spool.tmp-") {
				t.Errorf("%s is left open", to)
			}
		}
	}
}
