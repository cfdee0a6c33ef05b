package shard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCutWhileOpen shortens a shard that is open, on and off the borders of pages, and writes into another: an error each time that names the
// file and the byte, and what is still there can be read.
func TestCutWhileOpen(t *testing.T) {
	meta := fingerprints
	meta.Vocab = 300
	const ids = 3 * 4096
	for _, size := range []int64{0, 100, headerSize + 2*1000, 4096, 8192, headerSize + 2*ids - 1} {
		path := write(t, meta, some(ids, 300))
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		dst := make([]int32, 64)
		if err := r.Read(dst, ids-64); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "cut short") {
			t.Errorf("cut to %d bytes: %v", size, err)
		}
		if whole := (size - headerSize) / 2; whole >= 64 {
			if err := r.Read(dst, whole-64); err != nil {
				t.Errorf("cut to %d bytes: what is left: %v", size, err)
			}
			if err := r.Read(dst, whole-63); err == nil {
				t.Errorf("cut to %d bytes: one id too many was read", size)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestWrittenWhileOpen puts an id that is none of the vocabulary into a shard that is open.
func TestWrittenWhileOpen(t *testing.T) {
	for _, vocab := range []int{300, 70000} {
		meta := fingerprints
		meta.Vocab = vocab
		path := write(t, meta, some(500, 300))
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		width := int64(meta.width())
		if _, err := f.WriteAt([]byte{0xff, 0xff, 0xff, 0xff}[:width], headerSize+10*width); err != nil {
			t.Fatal(err)
		}
		f.Close()
		dst := make([]int32, 8)
		if err := r.Read(dst, 4); err == nil || !strings.Contains(err.Error(), "outside the vocabulary") {
			t.Errorf("vocabulary %d: %v", vocab, err)
		}
		if err := r.Read(dst, 11); err != nil {
			t.Errorf("beside it: %v", err)
		}
	}
}

// TestReadAllocatesNothing reads many times.
func TestReadAllocatesNothing(t *testing.T) {
	meta := fingerprints
	meta.Vocab = 300
	r, err := Open(write(t, meta, some(5000, 300)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dst := make([]int32, 129)
	at := int64(0)
	if n := testing.AllocsPerRun(500, func() {
		if err := r.Read(dst, at); err != nil {
			t.Fatal(err)
		}
		at = (at + 128) % 4800
	}); n > 0.1 { // the collector may empty the pool
		t.Errorf("%v allocations a read", n)
	}
}

// TestCutOthersWhileOpen shortens starts of documents, and another program's token file, that are open: the error names the file and the byte.
func TestCutOthersWhileOpen(t *testing.T) {
	r := openShard(t, some(300, 300))
	if err := startsOf(t, r, 0, 7, 21); err != nil {
		t.Fatal(err)
	}
	s, err := OpenStarts(r)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	foreign := filepath.Join(t.TempDir(), "a.bin")
	if err := os.WriteFile(foreign, make([]byte, 200), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := OpenForeign(foreign)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for path, size := range map[string]int64{StartsPath(r.Name()): startsHeader + 16, foreign: 50} {
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Read(make([]int64, 3), 0); err == nil || !strings.Contains(err.Error(), StartsPath(r.Name())+": byte 56: ") {
		t.Errorf("starts: %v", err)
	}
	if err := s.Read(make([]int64, 2), 0); err != nil {
		t.Errorf("starts that are left: %v", err)
	}
	if err := f.Read(make([]int32, 100), 0); err == nil || !strings.Contains(err.Error(), foreign+": byte 50: ") {
		t.Errorf("token file: %v", err)
	}
	if err := f.Read(make([]int32, 25), 0); err != nil {
		t.Errorf("ids that are left: %v", err)
	}
}
