package shard

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// filling is a disk that has no room from operation number failAt on, for what takes some.
func filling(failAt int) *faulty {
	f := &faulty{failAt: failAt}
	f.hook = func(operation string) error {
		f.count++
		if f.count < f.failAt || slices.Contains([]string{"remove", "open", "Close"}, operation) {
			return nil
		}
		return &os.PathError{Op: operation, Path: "x", Err: syscall.ENOSPC}
	}
	return f
}

// TestFullDiskKeepsCheckpoints fills the disk at each operation, those of the header, of the journal and of the end included, of a shard that begins and
// of one that is gone on with: what the last checkpoint holds stays, cut to it, or nothing does where there was none; with room again the shard is gone
// on with from there.
func TestFullDiskKeepsCheckpoints(t *testing.T) {
	defer func() { files = disk{} }()
	meta, ids, want := written(t)
	// attempt writes a shard of which so many ids are there, on a disk that fills.
	attempt := func(there int64, f *faulty, marked func()) (path string, w *Writer, err error) {
		path = filepath.Join(t.TempDir(), "x.tokens")
		if there > 0 {
			w, _, err := Continue(path, meta)
			if err == nil {
				err = errors.Join(w.Append(ids[:there]), w.Checkpoint(fmt.Append(nil, there)))
			}
			if err != nil {
				t.Fatal(err)
			}
			w.Suspend()
		}
		files = f
		defer func() { files = disk{} }()
		w, note, err := Continue(path, meta)
		if err == nil {
			err = fillRest(w, note, ids, marked)
			w.Suspend()
		}
		return path, w, err
	}
	for _, there := range []int64{0, 10_000} {
		whole := filling(1 << 20)
		var marks []int // how many operations were done by the end of each checkpoint
		if _, _, err := attempt(there, whole, func() { marks = append(marks, whole.count) }); err != nil || len(marks) != 4-int(there/5000) {
			t.Fatalf("%v, %d checkpoints", err, len(marks))
		}
		for failAt := 1; failAt <= whole.count; failAt++ {
			path, w, err := attempt(there, filling(failAt), nil)
			_, missing := os.Stat(path)
			if missing != nil && (!Full(err) || w != nil && !w.Failed()) {
				t.Errorf("operation %d: %v", failAt, err)
			}
			due := there
			for _, mark := range marks {
				if mark < failAt {
					due += 5000
				}
			}
			kept, size := int64(0), int64(-1)
			if w != nil {
				kept = w.Kept()
			}
			if info, err := os.Stat(path + unfinished); err == nil {
				size = info.Size()
			}
			entries, _ := os.ReadDir(filepath.Dir(path))
			switch {
			case missing == nil: // only what makes the name durable failed
				if len(entries) != 1 {
					t.Errorf("operation %d: %d files beside the shard", failAt, len(entries)-1)
				}
			case kept != due:
				t.Errorf("operation %d: %d ids are kept, %d were marked", failAt, kept, due)
			case kept == 0 && len(entries) > 0 || kept > 0 && (len(entries) != 2 || size != headerSize+2*kept):
				t.Errorf("operation %d: with %d ids kept, %d files are left, the ids' has %d bytes", failAt, kept, len(entries), size)
			}
			if from, err := goOn(path, meta, ids); err != nil || missing != nil && from != due {
				t.Errorf("operation %d: went on from %d, want %d, %v", failAt, from, due, err)
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
				t.Errorf("operation %d: other bytes, %v", failAt, err)
			}
		}
	}
}
