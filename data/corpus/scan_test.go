package corpus

import (
	"fmt"
	"strings"
	"testing"
)

// TestProgressOfDivision ends at all bytes where a text is divided at its end, within a file of rows and within a text in stretches, and where much
// stands behind the last text.
func TestProgressOfDivision(t *testing.T) {
	small(t, 1<<16, 1<<20)
	row := "{\"text\": \"" + strings.Repeat("word ", 100) + "\"}\n"
	tree(t, map[string]string{"a.txt": strings.Repeat("a line of text\n", 30_000), "b.jsonl": strings.Repeat(row, 1000), "c.txt": "short\ntext", "d.tar": archive(t, "a.txt", "a text", "b.txt", "another") + strings.Repeat("\x00", 1<<18)})
	for _, name := range []string{"a.txt", "b.jsonl", "c.txt", "d.tar"} {
		cfg := config(name)
		cfg.Val.By, cfg.Val.Fraction = "end", 0.6
		c, err := Open(cfg, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		var last, of int64
		if _, _, err := c.Scan(func(done, total int64) { last, of = done, total }); err != nil || last != of || of == 0 {
			t.Errorf("%s: %d of %d bytes, %v", name, last, of, err)
		}
	}
}

func TestScanProgress(t *testing.T) {
	tree(t, map[string]string{"a.txt": "aaaa", "b.txt": "bbbbbb"})
	cfg := config("a.txt")
	cfg.Val.Files = []string{"b.txt"}
	c, err := Open(cfg, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	var seen []int64
	if _, _, err := c.Scan(func(done, total int64) { seen = append(seen, done, total) }); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(seen) != "[4 10 10 10]" {
		t.Errorf("progress %v", seen)
	}
}

func TestFingerprint(t *testing.T) {
	sum := func(texts ...string) [32]byte {
		h := NewHasher()
		for _, text := range texts {
			h.Add([]byte(text))
		}
		return h.Summary().Fingerprint
	}
	if sum("ab", "c") == sum("a", "bc") || sum("ab") == sum("ab", "") || sum("a", "b") == sum("b", "a") {
		t.Error("two sequences of documents have one fingerprint")
	}
}
