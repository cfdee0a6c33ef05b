package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"prenorm/data"
	"prenorm/data/shard"
)

// words is text with every kind of boundary: runs of spaces, blank lines, apostrophes, digits, wide characters, carriage returns.
func words(n int) string {
	parts := []string{"the", " norm", "'s", "  two", "\n", "\n\n", "don't", " 1234", "é", "日本語", "\u00a0", "\t", " \n ", "\r\n", "!?", " ", "\u3000", "x"}
	var b strings.Builder
	state := uint32(n)
	for b.Len() < n {
		state = state*1664525 + 1013904223
		b.WriteString(parts[state>>16%uint32(len(parts))%uint32(len(parts))])
	}
	return b.String()
}

// old is a time at which the tests' files are said to be written: long enough ago to be trusted.
var old = time.Now().Add(-time.Hour)

// write puts a text at path, dated old.
func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	date(t, path, old)
}

func date(t testing.TB, path string, when time.Time) {
	t.Helper()
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
}

// run is a data set that is opened again and again.
type run struct {
	cfg    data.Config
	opt    Options
	stages []string // of slow work
	notes  []string
}

// newRun is a run over three files below a new folder, with texts of its own for validation.
func newRun(t testing.TB) *run {
	t.Helper()
	t.Chdir(t.TempDir())
	write(t, "text/a.txt", words(3000))
	write(t, "text/b.txt", words(2000))
	write(t, "val.txt", words(900))
	r := &run{}
	r.setup("")
	return r
}

// stopWithin opens the run and stops it once a stage has done more than so many bytes.
func (r *run) stopWithin(t testing.TB, stage string, bytes int64) {
	t.Helper()
	stopped := errors.New("stopped")
	var done atomic.Int64
	opt := r.opt
	opt.Progress = func(at string, n, _ int64) {
		if at == stage {
			done.Store(n)
		}
	}
	opt.Stop = func() error {
		if done.Load() > bytes {
			return stopped
		}
		return nil
	}
	if _, err := Open(r.cfg, opt); !errors.Is(err, stopped) {
		t.Fatalf("stopped within %s: %v", stage, err)
	}
}

// setup is the configuration of a run over files in a folder.
func (r *run) setup(dir string) {
	r.cfg = data.Default()
	r.cfg.Train, r.cfg.Val.Files = []string{filepath.Join(dir, "text")}, []string{filepath.Join(dir, "val.txt")}
	r.cfg.Tokenizer.Vocab = 300
	r.opt = Options{
		Dir: filepath.Join(dir, "run"),
		Log: func(note string) { r.notes = append(r.notes, note) },
		Progress: func(stage string, done, total int64) {
			if n := len(r.stages); n == 0 || r.stages[n-1] != stage {
				r.stages = append(r.stages, stage)
			}
		},
	}
}

// open opens the data set and returns its tokens and statistics; the test ends if that fails.
func (r *run) open(t testing.TB) string {
	t.Helper()
	r.stages, r.notes = nil, nil
	d, err := Open(r.cfg, r.opt)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	return fmt.Sprint(ids(t, d.Train), ids(t, d.Val), d.Stats)
}

// did says which slow work was done since the last open.
func (r *run) did() string { return strings.Join(r.stages, ", ") }

func ids(t testing.TB, r *shard.Reader) []int32 {
	t.Helper()
	list := make([]int32, r.Len())
	if err := r.Read(list, 0); err != nil {
		t.Fatal(err)
	}
	return list
}

const (
	everything = "reading text, training tokenizer, encoding training text, encoding validation text"
	encoding   = "encoding training text, encoding validation text"
)
