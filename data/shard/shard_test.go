package shard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prenorm/configs/problem/problemtest"
)

// write makes a shard and returns its path.
func write(t testing.TB, meta Meta, ids []int32) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ids.tokens")
	w, err := Create(path, meta)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for len(ids) > 0 { // in pieces, which must not matter
		n := min(len(ids), 1000)
		if err := w.Append(ids[:n]); err != nil {
			t.Fatal(err)
		}
		ids = ids[n:]
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	return path
}

// some returns n ids below vocab, the largest among them.
func some(n, vocab int) []int32 {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = random.Int32N(int32(vocab))
	}
	if n > 0 {
		ids[n/2] = int32(vocab - 1)
	}
	return ids
}

var fingerprints = Meta{Tokenizer: [32]byte{1, 2, 3}, Source: [32]byte{31: 9}}

func TestRoundTrip(t *testing.T) {
	for _, test := range []struct{ n, vocab, width int }{
		{0, 1, 2}, {1, 1, 2}, {7, 256, 2}, {40000, 65536, 2}, {40000, 65537, 4}, {3, MaxVocab, 4},
	} {
		meta := fingerprints
		meta.Vocab = test.vocab
		ids := some(test.n, test.vocab)
		path := write(t, meta, ids)
		if info, err := os.Stat(path); err != nil || info.Size() != int64(headerSize+test.n*test.width) {
			t.Errorf("%+v: size %d, %v", test, info.Size(), err)
		}
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if r.Meta() != meta || r.Len() != int64(test.n) || r.Name() != path {
			t.Errorf("%+v: meta %+v, %d ids", test, r.Meta(), r.Len())
		}
		got := make([]int32, test.n)
		if err := r.Read(got, 0); err != nil || !slices.Equal(got, ids) {
			t.Errorf("%+v: other ids come back, %v", test, err)
		}
		if err := r.Read(got[:test.n/3], int64(test.n/2)); err != nil || !slices.Equal(got[:test.n/3], ids[test.n/2:test.n/2+test.n/3]) {
			t.Errorf("%+v: other ids come back from the middle, %v", test, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if err := r.Read(got[:0], 0); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("reading a closed shard: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestReadOutside(t *testing.T) {
	meta := fingerprints
	meta.Vocab = 10
	r, err := Open(write(t, meta, some(10, 10)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, test := range []struct {
		n   int
		off int64
		ok  bool
	}{{10, 0, true}, {0, 10, true}, {1, 9, true}, {11, 0, false}, {1, 10, false}, {0, 11, false}, {1, -1, false}, {2, 1<<63 - 1, false}} {
		dst := slices.Repeat([]int32{-7}, test.n)
		if err := r.Read(dst, test.off); (err == nil) != test.ok {
			t.Errorf("%+v: %v", test, err)
		}
		if test.n > 0 && slices.Contains(dst, -7) == test.ok {
			t.Errorf("%+v: dst %v", test, dst)
		}
	}
	dst := make([]int32, 5)
	if n := testing.AllocsPerRun(100, func() { r.Read(dst, 3) }); n != 0 {
		t.Errorf("Read allocates %v times", n)
	}
}

func TestEveryFlipIsCaught(t *testing.T) {
	for _, vocab := range []int{300, 70000} {
		meta := fingerprints
		meta.Vocab = vocab
		good, err := os.ReadFile(write(t, meta, some(40, vocab)))
		if err != nil {
			t.Fatal(err)
		}
		for i := range len(good) * 8 {
			bad := bytes.Clone(good)
			bad[i/8] ^= 1 << (i % 8)
			if _, err := FromBytes("x.tokens", bad); err == nil {
				t.Errorf("vocabulary %d: bit %d of byte %d flipped unnoticed", vocab, i%8, i/8)
			} else if !strings.Contains(err.Error(), "token shard x.tokens: byte ") || !strings.Contains(err.Error(), remedy) {
				t.Errorf("the message does not say where or what to do: %v", err)
			}
		}
	}
}

func TestEverySizeIsCaught(t *testing.T) {
	meta := fingerprints
	meta.Vocab = 300
	path := write(t, meta, some(40, 300))
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	long := append(bytes.Clone(good), 0, 0, 0, 0, 0)
	for n := range len(long) + 1 {
		if n == len(good) {
			continue
		}
		if err := os.WriteFile(path, long[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		if r, err := Open(path); err == nil {
			r.Close()
			t.Errorf("a shard of %d bytes was opened at %d", len(good), n)
		} else if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), remedy) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a folder was opened")
	}
	if _, err := Open(path + ".not"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// forge returns a shard with correct checksums around a payload.
func forge(h header, payload []byte) []byte {
	h.payload = crc32.Checksum(payload, castagnoli)
	return append(h.marshal(), payload...)
}

func TestIDsOutsideTheVocabulary(t *testing.T) {
	for _, vocab := range []int{300, 70000} {
		h := header{Meta: Meta{Vocab: vocab}, count: 100_000}
		payload := make([]byte, int(h.count)*h.width())
		if _, err := FromBytes("x", forge(h, payload)); err != nil {
			t.Fatal(err)
		}
		last := payload[len(payload)-h.width():]
		if h.width() == 2 {
			binary.LittleEndian.PutUint16(last, uint16(vocab))
		} else {
			binary.LittleEndian.PutUint32(last, 1<<31)
		}
		want := fmt.Sprintf("byte %d: id", headerSize+len(payload)-h.width())
		if _, err := FromBytes("x", forge(h, payload)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "outside the vocabulary") {
			t.Errorf("vocabulary %d: %v, want it to say %q", vocab, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "x")
	for _, id := range []int32{-1, 10} {
		w, err := Create(path, Meta{Vocab: 10})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Append([]int32{9, id}); err == nil || !strings.Contains(err.Error(), "at place 1 ") {
			t.Errorf("id %d of 10: %v", id, err)
		}
		if err := w.Commit(); err == nil {
			t.Errorf("a shard with id %d of 10 was committed", id)
		}
	}
	for _, vocab := range []int{0, -5} {
		if _, err := Create(path, Meta{Vocab: vocab}); err == nil {
			t.Errorf("a shard of a vocabulary of %d was created", vocab)
		}
	}
	if left, _ := filepath.Glob(path + "*"); left != nil {
		t.Errorf("files are left: %v", left)
	}
}

// FuzzFromBytes opens any bytes and, where they pass for a shard, reads anywhere.
func FuzzFromBytes(f *testing.F) {
	for _, vocab := range []int{1, 300, 70000} {
		h := header{Meta: Meta{Vocab: vocab}, count: 5}
		f.Add(forge(h, make([]byte, 5*h.width())), 1, int64(3))
	}
	f.Add(header{Meta: Meta{Vocab: 5}, count: 1 << 63}.marshal(), 0, int64(-1))
	f.Add(header{}.marshal(), 1, int64(0))
	f.Add([]byte(magic), 0, int64(0))
	f.Fuzz(func(t *testing.T, data []byte, n int, off int64) {
		if len(data) >= headerSize { // so that the fuzzer gets past the checksums
			copy(data[124:], binary.LittleEndian.AppendUint32(nil, crc32.Checksum(data[:124], castagnoli)))
		}
		var r *Reader
		var err error
		problemtest.Bounded(t, len(data), 4, func() { r, err = FromBytes("fuzz", data) })
		if err != nil {
			problemtest.Says(t, err, "token shard fuzz: ", remedy)
			return
		}
		dst := make([]int32, max(0, n%1000))
		err = r.Read(dst, off)
		if inside := off >= 0 && off <= r.Len() && int64(len(dst)) <= r.Len()-off; inside != (err == nil) {
			t.Fatalf("%d of %d ids at %d: %v", len(dst), r.Len(), off, err)
		}
		for _, id := range dst {
			if err == nil && (id < 0 || int(id) >= r.Meta().Vocab) {
				t.Fatalf("id %d of %d", id, r.Meta().Vocab)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	meta := fingerprints
	meta.Vocab = 1024
	r, err := Open(write(b, meta, some(1<<20, 1024)))
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	dst := make([]int32, 129)
	b.SetBytes(int64(2 * len(dst)))
	for i := range b.N {
		if err := r.Read(dst, int64(i*128%(1<<20-129))); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	meta := fingerprints
	meta.Vocab = 1024
	content, err := os.ReadFile(write(b, meta, some(1<<20, 1024)))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(content)))
	for range b.N {
		if _, err := FromBytes("x", content); err != nil {
			b.Fatal(err)
		}
	}
}
