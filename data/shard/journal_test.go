package shard

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofrs/flock"
)

// TestOrderOfCheckpoint: a line of the journal promises ids that are on disk, and is on disk itself before anything builds on it.
func TestOrderOfCheckpoint(t *testing.T) {
	f := &faulty{}
	files = f
	defer func() { files = disk{} }()
	w, _, err := Continue(filepath.Join(t.TempDir(), "x.tokens"), Meta{Vocab: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for i, want := range []string{"Write Sync create Write Sync", "Write Sync Write Sync"} {
		f.log = nil
		if err := errors.Join(w.Append(some(10, 1000)), w.Checkpoint([]byte("1"))); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(f.log, " "); got != want {
			t.Errorf("checkpoint %d: %s", i, got)
		}
	}
}

// TestJournalGoesForth has a journal whose second line has fewer ids than its first, under a right checksum: what stands before that line counts.
func TestJournalGoesForth(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tokens")
	meta := Meta{Vocab: 1000}
	ids := some(23_000, 1000)
	w, _, err := Continue(path, meta)
	if err == nil {
		err = errors.Join(w.Append(ids[:10_000]), w.Checkpoint([]byte("10000")))
	}
	if err != nil {
		t.Fatal(err)
	}
	good := checkpoint{meta, w.head.count, w.head.payload, json.RawMessage("10000")}
	w.Suspend()
	journal, err := os.ReadFile(path + journalName)
	if err != nil {
		t.Fatal(err)
	}
	back := good
	back.Count, back.Note = 9_999, json.RawMessage("9999")
	line, err := json.Marshal(back)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+journalName, fmt.Appendf(journal, "%s %08x\n", line, crc32.Checksum(line, castagnoli)), 0o666); err != nil {
		t.Fatal(err)
	}
	if from, err := goOn(path, meta, ids); err != nil || from != 10_000 {
		t.Errorf("went on from %d, %v", from, err)
	}
}

// TestLockOfAnotherFile has another process remove the lock's file while it is taken, and a third make another: the lock is not taken for one, as the
// third has the shard, and a new shard is written that leaves nothing behind.
func TestLockOfAnotherFile(t *testing.T) {
	defer func() { tryLock = (*flock.Flock).TryLock }()
	for _, another := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "x.tokens")
		tryLock = func(lock *flock.Flock) (bool, error) {
			held, err := lock.TryLock()
			if moved := os.Rename(lock.Path(), path+" elsewhere"); moved != nil {
				t.Skipf("this system moves no open file, and removes none: %v", moved)
			}
			if another {
				err = errors.Join(err, os.WriteFile(lock.Path(), nil, 0o666))
			}
			return held, err
		}
		w, _, err := Continue(path, Meta{Vocab: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if w.partial != nil {
			t.Errorf("another file in its place %v: the lock is taken", another)
		}
		w.Abort()
	}
}
