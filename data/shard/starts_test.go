package shard

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"testing"
)

// startsOf makes the starts of a shard.
func startsOf(t *testing.T, of *Reader, list ...int64) error {
	t.Helper()
	return CreateStarts(of, func(add func(int64) error) error {
		for _, s := range list {
			if err := add(s); err != nil {
				return err
			}
		}
		return nil
	})
}

func openShard(t *testing.T, ids []int32) *Reader {
	t.Helper()
	r, err := Open(write(t, Meta{Vocab: 300}, ids))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestStarts(t *testing.T) {
	r := openShard(t, some(30000, 300))
	var want []int64
	for at := int64(0); at < r.Len(); at += 1 + at%3 {
		want = append(want, at)
	}
	if err := startsOf(t, r, want...); err != nil {
		t.Fatal(err)
	}
	s, err := OpenStarts(r)
	if err != nil {
		t.Fatal(err)
	}
	have := make([]int64, s.Len())
	if err := s.Read(have, 0); err != nil || !slices.Equal(have, want) {
		t.Errorf("%v: %d documents, want %d", err, len(have), len(want))
	}
	if err := s.Read(have[:2], s.Len()-1); err == nil {
		t.Error("documents behind the last were read")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), s.Read(have, 0)); err == nil {
		t.Error("a closed file was read")
	}
	// Another shard of as many ids.
	other := openShard(t, slices.Repeat([]int32{1}, 30000))
	file, _ := os.ReadFile(StartsPath(r.Name()))
	if err := os.WriteFile(StartsPath(other.Name()), file, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStarts(other); err == nil {
		t.Error("starts of another shard were taken")
	}
}

// TestStartsAreChecked wants every flipped bit and every size to be noticed, and no wrong order to be written.
func TestStartsAreChecked(t *testing.T) {
	r := openShard(t, some(50, 300))
	for _, wrong := range [][]int64{{1}, {0, 0}, {0, 5, 4}, {0, 50}, {0, -1}} {
		if err := startsOf(t, r, wrong...); err == nil || !strings.Contains(err.Error(), "cannot begin at id") {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	if err := startsOf(t, r, 0, 7, 21); err != nil {
		t.Fatal(err)
	}
	path := StartsPath(r.Name())
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, i int, content []byte) {
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		if s, err := OpenStarts(r); err == nil {
			s.Close()
			t.Errorf("%s %d was not noticed", what, i)
		}
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 1 << (i % 8)
		refused("the flipped byte", i, bad)
		refused("the size", i, good[:i])
	}
	refused("the size", len(good)+8, append(slices.Clone(good), make([]byte, 8)...))
}

// TestStartsInDisorder has starts whose checksums are right and whose order is not, as a program with an error would write them.
func TestStartsInDisorder(t *testing.T) {
	r := openShard(t, some(50, 300))
	for _, c := range []struct {
		list []uint64
		at   string // what is wrong with it
	}{{[]uint64{0, 7, 7}, "byte 56: a document begins at id 7 of 50 behind id 7"}, {[]uint64{0, 9, 4}, "byte 56: "}, {[]uint64{0, 50}, "byte 48: "}, {[]uint64{1}, "byte 40: "},
		{[]uint64{0, 1 << 63}, "byte 48: "}, {[]uint64{0, 7, 21}, ""}} {
		var payload []byte
		for _, start := range c.list {
			payload = binary.LittleEndian.AppendUint64(payload, start)
		}
		file := append(startsHead(r, int64(len(c.list)), crc32.Checksum(payload, castagnoli)), payload...)
		if err := os.WriteFile(StartsPath(r.Name()), file, 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := OpenStarts(r)
		if err == nil {
			s.Close()
		}
		if (err == nil) != (c.at == "") || err != nil && !strings.Contains(err.Error(), c.at) {
			t.Errorf("%v: %v", c.list, err)
		}
	}
}

// TestStartsStop has the check of starts asked whether to stop for each block, and end at any question.
func TestStartsStop(t *testing.T) {
	n := 2*verifyBlock/8 + 10 // three blocks
	r := openShard(t, some(n, 300))
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(i)
	}
	if err := startsOf(t, r, list...); err != nil {
		t.Fatal(err)
	}
	stopped := errors.New("stopped")
	for at := 1; at <= 4; at++ {
		asked := 0
		s, err := OpenStartsUnless(r, func() error {
			if asked++; asked < at {
				return nil
			}
			return stopped
		})
		if s != nil || !errors.Is(err, stopped) || strings.Contains(err.Error(), "delete") || asked < at || asked > at+1 {
			t.Errorf("question %d: asked %d times, %v", at, asked, err)
		}
	}
}
