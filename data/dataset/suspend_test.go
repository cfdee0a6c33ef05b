package dataset

import (
	"slices"
	"strings"
	"testing"
)

// TestStopKeepsWhatIsEncoded stops long before the first mark that is due: the next run goes on where this one was.
func TestStopKeepsWhatIsEncoded(t *testing.T) {
	r := newRun(t)
	rows(t, 1500)
	r.stopWithin(t, "encoding training text", 700_000)
	r.notes = nil
	r.open(t)
	if !slices.ContainsFunc(r.notes, func(note string) bool { return strings.HasPrefix(note, "encoding training text: going on after ") }) {
		t.Errorf("notes %q", r.notes)
	}
}

// TestHeldIsRemembered wants later runs, which read no text for it, to tell of validation documents that stand in the training text.
func TestHeldIsRemembered(t *testing.T) {
	r := newRun(t)
	rows(t, 20)
	write(t, "val.txt", words(3000)) // as text/a.txt
	for i := range 2 {
		r.open(t)
		if told := strings.Join(r.notes, "\n"); !strings.Contains(told, "100% of the validation text (1 of 1 documents that were compared) stands in the training text") || (i > 0) == strings.Contains(r.did(), "reading") {
			t.Errorf("run %d did %s, notes %q", i, r.did(), r.notes)
		}
	}
}

// TestOddIsRemembered wants later runs, which read no text for it, to tell of what was found.
func TestOddIsRemembered(t *testing.T) {
	r := newRun(t)
	r.cfg.Invalid = "replace"
	write(t, "text/bad.txt", words(900)+"\x00\xff")
	for range 2 {
		r.notes = nil
		r.open(t)
		told := strings.Join(r.notes, "\n")
		if !strings.Contains(told, "1 NUL character (at text/bad.txt:") || !strings.Contains(told, "1 run of bytes that are not UTF-8 (at text/bad.txt:") {
			t.Errorf("notes %q", r.notes)
		}
	}
}
