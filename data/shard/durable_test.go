package shard

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// faulty is a disk whose operation number failAt fails; with dead set, it and everything after is lost, as when the process is killed.
type faulty struct {
	disk
	failAt, count int
	dead          bool
	log           []string                     // the operations
	hook          func(operation string) error // decides instead; may be nil
}

var errFault = errors.New("fault")

func (f *faulty) next(operation string) error {
	if f.hook != nil {
		return f.hook(operation)
	}
	f.log = append(f.log, operation)
	f.count++
	if f.count == f.failAt || f.dead && f.count > f.failAt {
		return errFault
	}
	return nil
}

func (f *faulty) create(path string) (handle, error) {
	if err := f.next("create"); err != nil {
		return nil, err
	}
	h, err := f.disk.create(path)
	return &faultyHandle{h, f}, err
}

func (f *faulty) open(path string, size int64) (handle, error) {
	if err := f.next("open"); err != nil {
		return nil, err
	}
	h, err := f.disk.open(path, size)
	return &faultyHandle{h, f}, err
}

func (f *faulty) rename(from, to string) error {
	if err := f.next("rename"); err != nil {
		return err
	}
	return f.disk.rename(from, to)
}

func (f *faulty) remove(path string) error {
	if err := f.next("remove"); err != nil {
		return err
	}
	return f.disk.remove(path)
}

func (f *faulty) syncDir(path string) error {
	if err := f.next("syncDir"); err != nil {
		return err
	}
	return f.disk.syncDir(path)
}

type faultyHandle struct {
	handle
	f *faulty
}

// Write writes half of the bytes when it fails.
func (h *faultyHandle) Write(b []byte) (int, error) {
	if err := h.f.next("Write"); err != nil {
		n, _ := h.handle.Write(b[:len(b)/2])
		return n, err
	}
	return h.handle.Write(b)
}

func (h *faultyHandle) WriteAt(b []byte, off int64) (int, error) {
	if err := h.f.next("WriteAt"); err != nil {
		return 0, err
	}
	return h.handle.WriteAt(b, off)
}

func (h *faultyHandle) Sync() error {
	if err := h.f.next("Sync"); err != nil {
		return err
	}
	return h.handle.Sync()
}

func (h *faultyHandle) Close() error {
	h.handle.Close()
	return h.f.next("Close")
}

// replace writes a shard of other ids over the one at path.
func replace(path string, ids []int32) error {
	w, err := Create(path, Meta{Vocab: 1000})
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := w.Append(ids); err != nil {
		return err
	}
	return w.Commit()
}

// TestFaultAtEveryOperation fails, and kills the process at, each operation of a replacement: the old shard or the whole new one is
// there, and success is claimed only for the new one.
func TestFaultAtEveryOperation(t *testing.T) {
	defer func() { files = disk{} }()
	for _, dead := range []bool{false, true} {
		for failAt := 1; ; failAt++ {
			files = disk{}
			path := write(t, Meta{Vocab: 1000}, some(10, 1000))
			f := &faulty{failAt: failAt, dead: dead}
			files = f
			err := replace(path, some(100_000, 1000)) // more than one buffer
			r, open := Open(path)
			if open != nil {
				t.Fatalf("operation %d, dead %v: %v", failAt, dead, open)
			}
			if n := r.Len(); err == nil && n != 100_000 || n != 10 && n != 100_000 {
				t.Errorf("operation %d, dead %v: %d ids after error %v", failAt, dead, n, err)
			}
			r.Close()
			if err != nil && !strings.Contains(err.Error(), path) {
				t.Errorf("operation %d: the message names no file: %v", failAt, err)
			}
			left, _ := filepath.Glob(path + temporary + "*")
			if len(left) > 0 && !dead {
				t.Errorf("operation %d: %v is left", failAt, left)
			}
			if f.count < failAt {
				if err != nil {
					t.Errorf("no operation failed, but: %v", err)
				}
				if failAt < 9 {
					t.Errorf("only %d operations were tried", f.count)
				}
				break
			}
			if !dead && err == nil {
				t.Errorf("operation %d failed unnoticed", failAt)
			}
		}
	}
}

// TestOrderOfOperations: a name given before the bytes are on disk may stand for an empty file after a power failure.
func TestOrderOfOperations(t *testing.T) {
	f := &faulty{}
	files = f
	defer func() { files = disk{} }()
	path := filepath.Join(t.TempDir(), "x")
	if err := replace(path, some(10, 1000)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(f.log, " "); got != "create Write Write WriteAt Sync Close rename syncDir" {
		t.Errorf("operations of a shard: %s", got)
	}
	f.log = nil
	if err := WriteFile(path, []byte("content")); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(f.log, " "); got != "create Write Sync Close rename syncDir" {
		t.Errorf("operations of a small file: %s", got)
	}
}

func TestWriteFileConcurrently(t *testing.T) {
	path := filepath.Join(t.TempDir(), "small")
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 10 {
				if err := WriteFile(path, []byte(strings.Repeat(string(rune('a'+i)), 1000))); err != nil {
					t.Error(err)
				}
				content, err := os.ReadFile(path)
				if err != nil || len(content) != 1000 || strings.Trim(string(content), string(content[:1])) != "" {
					t.Errorf("%d mixed bytes, %v", len(content), err)
				}
			}
		})
	}
	group.Wait()
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("%d files are left", len(entries))
	}
	if err := WriteFile(filepath.Join(path, "below"), nil); err == nil {
		t.Error("a file below a file was written")
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{"a" + temporary + "1-2": 48 * time.Hour, "b" + temporary + "1-2": time.Hour, "c": 48 * time.Hour,
		"d.tokens.part": 48 * time.Hour, "e.tokens.part.journal": 31 * 24 * time.Hour, "f.tokens.part": 31 * 24 * time.Hour, "g.part": 31 * 24 * time.Hour} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	Sweep(dir)
	Sweep(filepath.Join(dir, "not there"))
	var left []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if strings.Join(left, " ") != "b"+temporary+"1-2 c d.tokens.part g.part" {
		t.Errorf("left: %v", left)
	}
}
