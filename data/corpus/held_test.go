package corpus

import (
	"fmt"
	"strings"
	"testing"

	"prenorm/data"
)

// TestHeld has validation documents that stand in the training text, in other files and at its own end: what is found is told from one hundredth of the
// validation text on, however few training documents are remembered (an eighth or a sixteenth of 4000, the half of 500
// or so), and nothing is told of what differs.
func TestHeld(t *testing.T) {
	rows := func(from, to int) string {
		var b strings.Builder
		for i := range to - from {
			fmt.Fprintf(&b, "{\"text\": \"row %05d\"}\n", from+i)
		}
		return b.String()
	}
	defer func(old int) { mostSeen = old }(mostSeen)
	for _, c := range []struct {
		what, train, val string
		most             int
		end              float64
		want             string // "" for no note
	}{
		{"a part of the training text", rows(0, 400), rows(100, 150), 1000, 0, "100% of the validation text (50 of 50 documents that were compared) stands in the training text, document by document: "},
		{"half of it", rows(0, 400), rows(390, 410), 1000, 0, "50% of the validation text (10 of 20 documents "},
		{"one of a hundred", rows(0, 400), rows(399, 499), 1000, 0, "1% of the validation text (1 of 100 documents "},
		{"one of two hundred", rows(0, 400), rows(399, 599), 1000, 0, ""},
		{"other text", rows(0, 400), rows(400, 800), 1000, 0, ""},
		{"the end of the text again", rows(0, 400) + rows(0, 400), "", 1000, 0.5, "100% of the validation text (400 of 400 documents "},
		{"by hash", rows(0, 400) + rows(0, 400), "", 1000, 0, ""},
		{"more than is remembered", rows(0, 4000), rows(0, 3999), 500, 0, "100% of the validation text ("},
		{"others, and more than is remembered", rows(0, 4000), rows(4000, 5000), 500, 0, ""},
		{"copies, and more than is remembered", strings.Repeat(rows(0, 100), 40), rows(50, 150), 500, 0, "50% of the validation text (50 of 100 documents "},
	} {
		mostSeen = c.most
		tree(t, map[string]string{"a.jsonl": c.train})
		cfg := config("a.jsonl")
		cfg.Val = data.Default().Val
		switch {
		case c.val != "":
			tree(t, map[string]string{"a.jsonl": c.train, "b.jsonl": c.val})
			cfg.Val.Files = []string{"b.jsonl"}
		case c.end > 0:
			cfg.Val.By, cfg.Val.Fraction = "end", c.end
		}
		for _, copies := range []string{"keep", "drop_exact"} {
			cfg.Duplicates = copies
			x, err := Open(cfg, nil, "")
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := x.Scan(nil); err != nil && copies == "keep" {
				t.Fatalf("%s: %v", c.what, err)
			}
			want := c.want
			if copies != "keep" {
				want = ""
			}
			note := x.heldNote()
			if (note == "") != (want == "") || !strings.Contains(note, want) || note != "" && !strings.Contains(note, "--set data.duplicates=drop_exact, or name files of other text (data.val.files)") {
				t.Errorf("%s, %s: %q", c.what, copies, note)
			}
			if h := x.Found().Held; want != "" && !strings.Contains(x.Note(), note) || c.most < 1000 && h.Of > 0 && strings.HasPrefix(c.what, "more") && (h.Of < 100 || h.Of > 900) && copies == "keep" {
				t.Errorf("%s: %+v, note %q", c.what, h, x.Note())
			}
			x.Close()
		}
	}
}
