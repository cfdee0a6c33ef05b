package corpus

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"prenorm/data"
)

// tale is a text of n words that no other seed gives.
func tale(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 7))
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "w%d ", r.IntN(10000))
	}
	return b.String()
}

// named are the names of the documents of both sides.
func named(t *testing.T, cfg data.Config) (names string, note string) {
	t.Helper()
	c, err := Open(cfg, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	train, val, err := c.Scan(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, side := range []Side{Train, Val} {
		h := NewHasher()
		for d, err := range c.Documents(side) {
			if err != nil {
				t.Fatal(err)
			}
			if !d.Continues {
				names += d.Name + " "
			}
			h.AddPart(d.Text, d.Rest, d.Continues)
		}
		names += "| "
		if h.Summary() != [2]Summary{train, val}[side] {
			t.Errorf("the %s documents are not those of the scan", side)
		}
	}
	return strings.TrimSpace(names), c.Note()
}

// TestCopies plants copies, equal and similar, small and in stretches, in several files, and wants the later ones gone, for any number of cores.
func TestCopies(t *testing.T) {
	long := tale(9, 60000)
	near := strings.ToUpper(tale(1, 200)) + "and some words more"
	rows := func(texts ...string) (lines string) {
		for _, text := range texts {
			lines += fmt.Sprintf("{\"text\": %q}\n", text)
		}
		return lines
	}
	tree(t, map[string]string{
		"d/a.jsonl": rows(tale(1, 200), tale(2, 200), tale(1, 200), "?", "?"),
		"d/b.txt":   long, "d/c.txt": long, "d/e.jsonl": rows(near, tale(3, 200)), "d/f.txt": long + "the end", "v.txt": tale(2, 200),
	})
	small(t, 1<<10, 1<<22) // long texts come in stretches
	cfg := config("d")
	cfg.Val = data.Val{Files: []string{"v.txt"}}
	for _, c := range []struct{ how, want, note string }{
		{"keep", "d/a.jsonl:1 d/a.jsonl:2 d/a.jsonl:3 d/a.jsonl:4 d/a.jsonl:5 d/b.txt d/c.txt d/e.jsonl:1 d/e.jsonl:2 d/f.txt | v.txt |", "100% of the validation text (1 of 1 documents that were compared) stands in the training text"},
		{"drop_exact", "d/a.jsonl:1 d/a.jsonl:4 d/b.txt d/e.jsonl:1 d/e.jsonl:2 d/f.txt | v.txt |", "4 documents of 11 left out as copies of earlier ones (data.duplicates: drop_exact)"},
		{"drop_near", "d/a.jsonl:1 d/a.jsonl:4 d/b.txt d/e.jsonl:2 | v.txt |", "6 documents of 11 left out"},
	} {
		for _, cores := range []int{1, 3} {
			before := runtime.GOMAXPROCS(cores)
			cfg.Duplicates = c.how
			got, note := named(t, cfg)
			runtime.GOMAXPROCS(before)
			if got != c.want || !strings.HasPrefix(note, c.note) {
				t.Errorf("%s, %d cores: %s (%s), want %s", c.how, cores, got, note, c.want)
			}
		}
	}
	// Divided by hash and at the end, the same documents are gone, whatever the side.
	for _, by := range []string{"hash", "end"} {
		cfg := config("d")
		cfg.Val = data.Val{By: by, Fraction: 0.5}
		cfg.Duplicates = "drop_near"
		got, _ := named(t, cfg)
		for name, want := range map[string]int{"d/a.jsonl:1": 1, "d/a.jsonl:2": 1, "d/a.jsonl:3": 0, "d/a.jsonl:5": 0, "d/c.txt": 0, "d/e.jsonl:1": 0, "d/f.txt": 0} {
			if n := strings.Count(got+" ", name+" "); n != want && !(by == "end" && n == 2 && want == 1) { // a divided document is on both sides
				t.Errorf("%s: %s is there %d times, want %d: %s", by, name, n, want, got)
			}
		}
	}
}
