package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/data/corpus"
)

// TestStop has the preparation end at every one of its questions, and wants that error each time, no unfinished file, and the same data set
// from what is left.
func TestStop(t *testing.T) {
	for _, packing := range []string{"stream", "documents"} {
		t.Run(packing, func(t *testing.T) { testStop(t, packing) })
	}
}

func testStop(t *testing.T, packing string) {
	r := newRun(t)
	r.cfg.Packing = packing
	r.cfg.Tokenizer.Vocab = 270
	want := r.open(t)
	if err := os.RemoveAll("run"); err != nil {
		t.Fatal(err)
	}
	stopped := errors.New("stopped")
	asked := 0
	for at := 1; ; at++ {
		asked = 0
		r.opt.Stop = func() error {
			if asked++; asked == at {
				return stopped
			}
			return nil
		}
		if d, err := Open(r.cfg, r.opt); err == nil { // it never asked so often: all is done
			d.Close()
			break
		} else if !errors.Is(err, stopped) {
			t.Fatalf("question %d: %v", at, err)
		}
		if asked != at {
			t.Errorf("question %d: asked %d times more after it", at, asked-at)
		}
		entries, err := os.ReadDir("run")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.Contains(e.Name(), ".tmp-") {
				t.Fatalf("question %d: %s is left", at, e.Name())
			}
		}
	}
	if asked < 3 {
		t.Errorf("asked only %d times with everything there", asked)
	}
	r.opt.Stop = nil
	if got := r.open(t); got != want {
		t.Error("what was left gives another data set")
	}
}

// TestStopWithinLargeText wants one file of several pieces to be left within it, while it is read, counted, merged, encoded and searched for
// where its documents begin. What is made next is told by what is there.
func TestStopWithinLargeText(t *testing.T) {
	r := newRun(t)
	write(t, "text/a.txt", words(9<<20))
	r.cfg.Packing = "documents"
	questions := map[string]int{}
	r.opt.Stop = func() error {
		for _, next := range []string{"sources-*.json", "tokenizer-*.json", "train-*.tokens", "train-*.starts"} {
			if made, err := filepath.Glob(filepath.Join("run", next)); err != nil || len(made) == 0 {
				questions[next]++
				break
			}
		}
		return nil
	}
	d, err := Open(r.cfg, r.opt)
	if err != nil {
		t.Fatal(err)
	}
	tokens := d.Train.Len()
	d.Close()
	for stage, least := range map[string]int{"sources-*.json": 3, "tokenizer-*.json": 9 + 40, "train-*.tokens": 9 * 4, "train-*.starts": int(tokens >> 14)} {
		if questions[stage] < least {
			t.Errorf("before %s: asked %d times, want %d", stage, questions[stage], least)
		}
	}
}

// TestRowsStop wants rows of documents to be planned with the question whether to stop that the data set was opened with.
func TestRowsStop(t *testing.T) {
	r := newRun(t)
	r.cfg.Packing = "documents"
	var stopped error
	r.opt.Stop = func() error { return stopped }
	d, err := Open(r.cfg, r.opt)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, stopped = range []error{nil, errors.New("stopped")} {
		if _, err := RuleOf(r.cfg).Loader(d.Sources[0].Text(corpus.Train), 2, 8, 1); !errors.Is(err, stopped) || (err == nil) != (stopped == nil) {
			t.Errorf("error %v, want %v", err, stopped)
		}
	}
}
