package shard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestForeignFormats writes known ids, compares every byte with what the formats say, and reads them back.
func TestForeignFormats(t *testing.T) {
	ids := append([]int32{50256, 0, 1, 258, 50256}, some(40000, 50257)...)
	r, err := Open(write(t, Meta{Vocab: 50257}, ids))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	payload := []byte{0x50, 0xC4, 0, 0, 1, 0, 2, 1, 0x50, 0xC4}
	head := make([]byte, 1024)
	copy(head, []byte{0x88, 0xD8, 0x34, 0x01, 1, 0, 0, 0, byte(len(ids)), byte(len(ids) >> 8), byte(len(ids) >> 16), 0})
	for format, before := range map[string][]byte{NanoGPT: nil, LLMC: head} {
		path := filepath.Join(t.TempDir(), "x.bin")
		if err := WriteForeign(path, format, r, onward); err != nil {
			t.Fatal(err)
		}
		file, err := os.ReadFile(path)
		if err != nil || len(file) != len(before)+2*len(ids) || !bytes.HasPrefix(file, append(slices.Clone(before), payload...)) {
			t.Fatalf("%s: %v, %d bytes, % x", format, err, len(file), file[:16])
		}
		f, err := OpenForeign(path)
		if err != nil {
			t.Fatal(err)
		}
		have := make([]int32, f.Len())
		if err := f.Read(have, 0); err != nil || f.Byte(0) != int64(len(before)) || !slices.Equal(have, ids) {
			t.Errorf("%s: ids from byte %d on, %v, equal %v", format, f.Byte(0), err, slices.Equal(have, ids))
		}
		if err := f.Read(have[:2], f.Len()-1); err == nil {
			t.Errorf("%s: ids behind the last were read", format)
		}
		if b := f.Byte(3); binary.LittleEndian.Uint16(file[b:]) != 258 {
			t.Errorf("%s: id 3 is said to be at byte %d", format, b)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	wide, err := Open(write(t, Meta{Vocab: 1 << 17}, []int32{1}))
	if err != nil {
		t.Fatal(err)
	}
	defer wide.Close()
	if err := WriteForeign(filepath.Join(t.TempDir(), "x.bin"), NanoGPT, wide, onward); err == nil || !strings.Contains(err.Error(), "ids have 2 bytes there") {
		t.Error(err)
	}
}

// TestWideForeign is the same for llm.c's shards with 4 bytes an id, and damages one.
func TestWideForeign(t *testing.T) {
	ids := append([]int32{128000, 0, 65536, 128255}, some(40000, 128256)...)
	r, err := Open(write(t, Meta{Vocab: 128256}, ids))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path := filepath.Join(t.TempDir(), "x.bin")
	if err := WriteForeign(path, LLMC, r, onward); err != nil {
		t.Fatal(err)
	}
	want := make([]byte, 1024)
	copy(want, []byte{0xA1, 0xD9, 0x34, 0x01, 7, 0, 0, 0, byte(len(ids)), byte(len(ids) >> 8)})
	want = append(want, 0x00, 0xF4, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0xFF, 0xF4, 1, 0)
	file, err := os.ReadFile(path)
	if err != nil || len(file) != 1024+4*len(ids) || !bytes.HasPrefix(file, want) {
		t.Fatalf("%v, %d bytes, % x, % x", err, len(file), file[:16], file[1024:1040])
	}
	f, err := OpenForeign(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	have := make([]int32, f.Len())
	if err := f.Read(have, 0); err != nil || f.Byte(2) != 1032 || !slices.Equal(have, ids) || f.CheckWidth(128256) != nil {
		t.Errorf("%v, equal %v", err, slices.Equal(have, ids))
	}
	if err := f.Read(have[:2], 2); err != nil || !slices.Equal(have[:2], ids[2:4]) {
		t.Errorf("ids 2 and 3 are %d, %v", have[:2], err)
	}
	file[1024+4*2+3] = 0x80
	if err := os.WriteFile(path, file, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := f.Read(have[:2], 1); err == nil || !strings.Contains(err.Error(), path+", byte 1032: id 2147549184, larger than any") {
		t.Errorf("a damaged id: %v", err)
	}
}

func TestForeignRefused(t *testing.T) {
	head := make([]byte, 1024, 1030)
	copy(head, []byte{0x88, 0xD8, 0x34, 0x01, 1, 0, 0, 0, 3, 0, 0, 0})
	with := func(at int, values ...byte) []byte {
		h := append(slices.Clone(head), 1, 0, 2, 0, 3, 0)
		copy(h[at:], values)
		return h
	}
	for what, file := range map[string][]byte{
		"an odd number":                 {1, 2, 3},
		"the header of llm.c alone has": head[:600],
		"byte 4: version 2":             with(4, 2),
		"byte 4: version 1":             with(0, 0xA1, 0xD9, 0x34, 0x01),
		"byte 8: 3 ids of 4 bytes are announced, but 6 bytes follow":  with(0, 0xA1, 0xD9, 0x34, 0x01, 7),
		"byte 8: 4 ids of 2 bytes are announced, but 6 bytes follow":  with(8, 4),
		"byte 8: 2 ids of 2 bytes are announced, but 6 bytes follow":  with(8, 2),
		"byte 8: -1 ids of 2 bytes are announced, but 6 bytes follow": with(8, 255, 255, 255, 255),
	} {
		path := filepath.Join(t.TempDir(), "x.bin")
		if err := os.WriteFile(path, file, 0o666); err != nil {
			t.Fatal(err)
		}
		if f, err := OpenForeign(path); err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, %v", what, f, err)
		}
	}
}

// onward is the answer to whether to stop of who does not.
func onward() error { return nil }

// TestWriteForeignStops is stopped in the middle of a file, of which nothing is left.
func TestWriteForeignStops(t *testing.T) {
	r, err := Open(write(t, Meta{Vocab: 9}, make([]int32, 1<<17)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dir, asked, stopped := t.TempDir(), 0, errors.New("stopped")
	err = WriteForeign(filepath.Join(dir, "x.bin"), NanoGPT, r, func() error {
		if asked++; asked > 3 {
			return stopped
		}
		return nil
	})
	if left, failed := os.ReadDir(dir); !errors.Is(err, stopped) || asked != 4 || failed != nil || len(left) > 0 {
		t.Errorf("%v after %d questions, left behind %v, %v", err, asked, left, failed)
	}
}
