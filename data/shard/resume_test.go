package shard

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// fillRest appends the ids that a writer lacks, with a checkpoint every 5000. marked is told of each; it may be nil.
func fillRest(w *Writer, note []byte, ids []int32, marked func()) error {
	if want := fmt.Sprint(w.Len()); note != nil && string(note) != want || note == nil && w.Len() != 0 {
		return fmt.Errorf("note %q of a shard of %s ids", note, want)
	}
	for at := int(w.Len()); at < len(ids); {
		n := min(5000-at%5000, len(ids)-at, 1700)
		if err := w.Append(ids[at : at+n]); err != nil {
			return err
		}
		if at += n; at%5000 == 0 {
			if err := w.Checkpoint([]byte(fmt.Sprint(at))); err != nil {
				return err
			}
			if marked != nil {
				marked()
			}
		}
	}
	return w.Commit()
}

// goOn writes what is missing of a shard.
func goOn(path string, meta Meta, ids []int32) (from int64, err error) {
	w, note, err := Continue(path, meta)
	if err != nil {
		return 0, err
	}
	from = w.Len()
	if err := fillRest(w, note, ids, nil); err != nil {
		w.Suspend()
		return from, err
	}
	return from, nil
}

// written is a shard of several checkpoints: what it holds, and its bytes.
func written(t *testing.T) (meta Meta, ids []int32, want []byte) {
	t.Helper()
	meta, ids = Meta{Vocab: 1000}, some(23_000, 1000)
	want, err := os.ReadFile(write(t, meta, ids))
	if err != nil {
		t.Fatal(err)
	}
	return meta, ids, want
}

// TestContinueAfterEveryFault fails, and kills the process at, each operation: the next process goes on from the last checkpoint, and the
// shard has the bytes of one written at once.
func TestContinueAfterEveryFault(t *testing.T) {
	defer func() { files = disk{} }()
	meta, ids, want := written(t)
	for _, dead := range []bool{false, true} {
		wentOn := map[int64]bool{}
		for failAt := 1; ; failAt++ {
			path := filepath.Join(t.TempDir(), "x.tokens")
			f := &faulty{failAt: failAt, dead: dead}
			files = f
			_, err := goOn(path, meta, ids)
			files = disk{}
			if f.count < failAt {
				if err != nil || failAt < 15 {
					t.Errorf("%d operations, %v", f.count, err)
				}
				break
			}
			if err != nil && !strings.Contains(err.Error(), path) {
				t.Errorf("operation %d: the message names no file: %v", failAt, err)
			}
			if _, missing := os.Stat(path); missing != nil {
				from, err := goOn(path, meta, ids)
				if err != nil {
					t.Errorf("operation %d, dead %v: %v", failAt, dead, err)
				}
				wentOn[from] = true
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
				t.Errorf("operation %d, dead %v: other bytes, %v", failAt, dead, err)
			}
		}
		for _, from := range []int64{0, 5000, 10000, 20000} {
			if dead && !wentOn[from] {
				t.Errorf("no process went on from %d: %v", from, wentOn)
			}
		}
	}
}

// TestDamagedJournal damages every byte of a journal, and bytes of the ids: the shard is whole in the end.
func TestDamagedJournal(t *testing.T) {
	meta, ids, want := written(t)
	path := filepath.Join(t.TempDir(), "x.tokens")
	w, _, err := Continue(path, meta)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < 20_000; at += 5000 {
		if err := errors.Join(w.Append(ids[at:at+5000]), w.Checkpoint([]byte(fmt.Sprint(at+5000)))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Append(ids[20_000:21_000]); err != nil {
		t.Fatal(err)
	}
	w.Suspend()
	w.Suspend()
	w.Abort()
	good := map[string][]byte{}
	for _, name := range []string{path + unfinished, path + journalName} {
		if good[name], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 2 {
		t.Errorf("%d files are left", len(entries))
	}
	from := map[int64]int{}
	check := func(name string, bad []byte) {
		for name, content := range good {
			if err := os.WriteFile(name, content, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(name, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		at, err := goOn(path, meta, ids)
		if got, _ := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s: other bytes, %v", name, err)
		}
		from[at]++
		if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
			t.Fatalf("%d files are left", len(entries))
		}
		os.Remove(path)
	}
	journal, shard := good[path+journalName], good[path+unfinished]
	for i := 0; i < len(journal); i += 7 {
		bad := bytes.Clone(journal)
		bad[i] ^= 4
		check(path+journalName, bad)
		check(path+journalName, journal[:i])
	}
	for i := headerSize; i < len(shard); i += 1997 {
		bad := bytes.Clone(shard)
		bad[i] ^= 4
		check(path+unfinished, bad)
		check(path+unfinished, shard[:i])
	}
	check(path+journalName, journal)
	for _, at := range []int64{0, 5000, 10_000, 15_000, 20_000} {
		if from[at] == 0 {
			t.Errorf("never went on from %d: %v", at, from)
		}
	}
}

// TestContinueConcurrently: one process has the unfinished shard, the others write their own.
func TestContinueConcurrently(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tokens")
	ids := some(23_000, 1000)
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			for range 5 {
				if _, err := goOn(path, Meta{Vocab: 1000}, ids); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if _, err := Open(path); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("%d files are left", len(entries))
	}
	if _, _, err := Continue(path, Meta{}); err == nil {
		t.Error("a shard without vocabulary was started")
	}
}
