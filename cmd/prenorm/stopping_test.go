package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"prenorm/data/dataset"
)

// interrupting is a text that sends the process Ctrl-C when it begins to be read.
type interrupting struct {
	text  *strings.Reader
	begun bool
}

func (r *interrupting) Read(p []byte) (int, error) {
	if !r.begun {
		r.begun = true
		signalSelf("interrupt")
	}
	return r.text.Read(p)
}

// TestDataStops wants commands that prepare text to stop at Ctrl-C, to say what they do, and to leave nothing behind.
func TestDataStops(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send itself the signal of Ctrl-C")
	}
	inTiny(t)
	text := read(t, "text.txt")
	for _, args := range [][]string{{"data", "export", "tiny.yaml", "--set", "data.train=-", "--out", "tokens"}, {"data", "report", "-"}} {
		var out, errOut bytes.Buffer
		code := execute(context.Background(), args, &interrupting{text: strings.NewReader(text)}, &out, &errOut)
		result{code, out.String(), errOut.String()}.want(t, exitInterrupted, keepsNone+"; again to quit at once")
	}
	if left, err := os.ReadDir("tokens"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestDryRunStops wants a dry run not to speak of saving.
func TestDryRunStops(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send itself the signal of Ctrl-C")
	}
	inTiny(t)
	for _, c := range []struct{ does, flag string }{{keepsTokens, "--dry-run"}, {savesFirst, "--fresh"}} {
		var out, errOut bytes.Buffer
		code := execute(context.Background(), []string{"train", "tiny.yaml", "--set", "data.train=-", c.flag}, &interrupting{text: strings.NewReader(read(t, "text.txt"))}, &out, &errOut)
		result{code, out.String(), errOut.String()}.want(t, exitInterrupted, c.does+"; again to quit at once")
	}
}

// TestRereadableCloses wants the file of standard input to be closed.
func TestRereadableCloses(t *testing.T) {
	cmd := newDataReport()
	cmd.SetIn(strings.NewReader("text"))
	stdin, closeFile, err := rereadable(cmd, []string{"-"}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := stdin()
	must(closeFile())
	if _, err := in.Read(make([]byte, 4)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after its end: %v", err)
	}
}

// TestStageUnits holds what is told of the preparation of a text against the unit that it is told with: bytes, and merges once they are counted.
func TestStageUnits(t *testing.T) {
	inTiny(t)
	units := map[bool]int64{} // the largest total while the tokenizer is trained, by whether it is bytes
	progress := dataset.WithUnit(func(stage string, _, total int64, bytes bool) {
		if stage == "training tokenizer" {
			units[bytes] = max(units[bytes], total)
		} else if !bytes {
			t.Errorf("%s is not in bytes", stage)
		}
	})
	l, err := (&runFlags{sets: []string{"data.tokenizer={kind: bpe, vocab: 280}"}}).load(newTrain(), "tiny.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(l.Run.Data, dataset.Options{Dir: "data", Progress: progress})
	if err != nil {
		t.Fatal(err)
	}
	must(d.Close())
	if total, counted := units[true]; !counted || total != 0 || units[false] != 280-257 {
		t.Errorf("totals %v", units)
	}
}
