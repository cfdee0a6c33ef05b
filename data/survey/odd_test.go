package survey

import (
	"strings"
	"testing"

	"prenorm/data"
)

// TestOdd counts what a text should hardly have, by hand: on each side, and in the files before rules are applied.
func TestOdd(t *testing.T) {
	for _, c := range []struct {
		nul, invalid string
		train, val   OddKept
	}{
		{"keep", "replace", OddKept{NUL: 3, Controls: 4, Replaced: 3, Marks: 1, Private: 2}, OddKept{NUL: 1, Replaced: 1}},
		{"drop", "drop", OddKept{Controls: 4, Replaced: 1, Marks: 1, Private: 2}, OddKept{}},
	} {
		put(t, map[string]string{
			"a.txt": "\uFEFFa\x00\x00b\t\n\f\r", "b.txt": "\x01\x1f\x7f\u0085\u00a0 \xff\xfe\xfd \x80 \uFFFD \uFEFF \uE000 \U00100000 \x00 é 日 —", "v.txt": "only\x00 this\xff",
			"w.txt": strings.Repeat("and that ", 9),
		})
		s := run(t, func(cfg *data.Config) {
			cfg.Train, cfg.Val.Files, cfg.NUL, cfg.Invalid = []string{"a.txt", "b.txt"}, []string{"v.txt", "w.txt"}, c.nul, c.invalid
		})
		if s.Train.Odd != c.train || s.Val.Odd != c.val {
			t.Errorf("%s, %s: %+v and %+v, want %+v and %+v", c.nul, c.invalid, s.Train.Odd, s.Val.Odd, c.train, c.val)
		}
		if want := (OddRead{NUL: Seen{4, "a.txt:1", c.nul}, Invalid: Seen{3, "b.txt:1", c.invalid}}); s.Odd != want {
			t.Errorf("%+v, want %+v", s.Odd, want)
		}
	}
}

// TestOddOfSources sums what is odd in sources, names the first place, and tells a source's notes each with its name.
func TestOddOfSources(t *testing.T) {
	put(t, map[string]string{"a.txt": strings.Repeat("no such\n", 9), "b.txt": strings.Repeat("with\x00 \xff such\n", 9) + "\uFFFD", "c.txt": strings.Repeat("\x00of c\n", 9), "val.txt": "\uE000"})
	s := run(t, func(c *data.Config) {
		c.Invalid = "replace"
		for _, name := range []string{"a", "b", "c"} {
			c.Sources = append(c.Sources, data.Source{Name: name, Train: []string{name + ".txt"}, Val: []string{"val.txt"}, Weight: 1})
		}
	})
	if want := (OddRead{NUL: Seen{18, "b.txt:1", "keep"}, Invalid: Seen{9, "b.txt:1", "replace"}}); s.Odd != want {
		t.Errorf("%+v, want %+v", s.Odd, want)
	}
	if train, val := (OddKept{NUL: 18, Replaced: 10}), (OddKept{Private: 3}); s.Train.Odd != train || s.Val.Odd != val || s.Sources[1].Train.Odd != (OddKept{NUL: 9, Replaced: 10}) || s.Sources[0].Train.Odd != (OddKept{}) {
		t.Errorf("%+v, %+v", s.Train.Odd, s.Val.Odd)
	}
	notes := map[string]int{}
	for _, note := range s.Notes {
		source, _, _ := strings.Cut(note, ": ")
		if notes[source]++; strings.Contains(note, "\n") {
			t.Errorf("two notes in one: %q", note)
		}
	}
	if len(notes) != 2 || notes["b"] != 2 || notes["c"] != 1 {
		t.Errorf("%q", s.Notes)
	}
}

// TestOddIDs has ids that stand for bytes that are no text, in a document that comes in stretches.
func TestOddIDs(t *testing.T) {
	defer func(block, most int) { idsBlock, stretch = block, most }(idsBlock, stretch)
	idsBlock, stretch = 3, 5
	ids := ""
	for _, b := range []byte("\xffone\xe9 two\xe6\x97\xa5\xe6\x97 and the end\x00") {
		ids += string([]byte{b, 0})
	}
	put(t, map[string]string{"train.bin": ids})
	s := run(t, func(c *data.Config) { c.Train, c.Val.By, c.Val.Fraction = []string{"train.bin"}, "end", 0.2 })
	if s.Train.Odd != (OddKept{Invalid: 4}) || s.Val.Odd != (OddKept{NUL: 1}) || s.Odd != (OddRead{}) {
		t.Errorf("%+v, %+v", s.Train.Odd, s.Val.Odd)
	}
}
