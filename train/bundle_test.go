package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prenorm/data/token"
	"prenorm/train/checkpoint"
	"prenorm/train/checkpoint/checkpointtest"
	"prenorm/train/safetensors"
)

// tinyBundle is a bundle of one step.
func tinyBundle(step int64) *bundle {
	tokenizer, err := token.New(token.Config{Kind: "byte"}, nil, nil)
	if err != nil {
		panic(err)
	}
	return &bundle{report: Report{Format: bundleFormat, Step: step}, micros: split(testBatches(2, func(int) bool { return false }), 2), decoder: tokenizer,
		state: checkpoint.Snapshot{Step: step - 1, State: State{Step: step - 1}, Files: map[string][]byte{ConfigFile: []byte("name: x\n"), TokenizerFile: []byte("{}")},
			Weights: []safetensors.Tensor{safetensors.New("w", []int{2}, []float32{1, 2})}}}
}

// TestDamagedBundle wants every byte of a bundle to be under its checksum, and any part of one to be refused.
func TestDamagedBundle(t *testing.T) {
	var whole bytes.Buffer
	if _, err := tinyBundle(3).write(&whole); err != nil {
		t.Fatal(err)
	}
	data := whole.Bytes()
	if b, err := parseBundle(data); err != nil || b.Report.Step != 3 || len(b.Micros) != 2 || b.Micros[1].Inputs[0] != testBatches(2, func(int) bool { return false }).Inputs[5] {
		t.Fatal(b, err)
	}
	for i := range data {
		data[i] ^= 0x20
		if _, err := parseBundle(data); err == nil {
			t.Errorf("byte %d can be changed", i)
		}
		data[i] ^= 0x20
	}
	for n := range data {
		if _, err := parseBundle(data[:n]); err == nil {
			t.Errorf("%d of %d bytes are enough", n, len(data))
		}
	}
}

// TestBundleBounds wants a file that the archive says to lie beyond its end to be refused, under a right checksum too: anybody may have written
// the bundle.
func TestBundleBounds(t *testing.T) {
	var whole bytes.Buffer
	if _, err := tinyBundle(3).write(&whole); err != nil {
		t.Fatal(err)
	}
	data := whole.Bytes()
	header := data[bytes.LastIndex(data, []byte("PK\x03\x04")):] // of the last file, whose lengths say where its content begins
	room := len(header) - sealBytes - 30 - int(binary.LittleEndian.Uint16(header[26:]))
	for _, more := range []uint16{math.MaxUint16, uint16(room), uint16(room - 1)} { // beyond the end, at it, and with one of its two bytes within
		binary.LittleEndian.PutUint16(header[28:], more)
		sum := sha256.Sum256(data[:len(data)-sealBytes])
		copy(data[len(data)-sealBytes:], hex.EncodeToString(sum[:]))
		if _, err := parseBundle(data); err == nil || !strings.Contains(err.Error(), `"`+TokenizerFile+`": is compressed, there twice, or not inside the file`) {
			t.Errorf("content %d bytes further on: %v", more, err)
		}
	}
}

// TestBundleOfDocuments wants the ids of documents back, and those of another shape to be refused.
func TestBundleOfDocuments(t *testing.T) {
	b := tinyBundle(3)
	for i, m := range b.micros {
		m.Docs = make([]int32, len(m.Inputs))
		m.Docs[1] = int32(i + 7)
	}
	read := func() (*Bundle, error) {
		var whole bytes.Buffer
		if _, err := b.write(&whole); err != nil {
			t.Fatal(err)
		}
		return parseBundle(whole.Bytes())
	}
	again, err := read()
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range b.micros {
		if !slices.Equal(again.Micros[i].Docs, m.Docs) {
			t.Errorf("micro-batch %d: %v, want %v", i, again.Micros[i].Docs, m.Docs)
		}
	}
	var other bytes.Buffer
	list := batchTensors(b.micros)
	list[2].Shape = []int{list[2].Shape[0], list[2].Shape[2], list[2].Shape[1]}
	if err := safetensors.Write(&other, list, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := parseBatches(other.Bytes()); err == nil || !strings.Contains(err.Error(), "are not of the shape of inputs") {
		t.Error(err)
	}
}

// TestUnfinishedBundle wants what a process left that was killed while it wrote a bundle to be removed, and not to count.
func TestUnfinishedBundle(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".tmp-step-00000002.zip", ".tmp-step-00000003.zip", "mine.zip", ".tmp-mine"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("cut off"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".tmp-step-00000004.zip"), 0o777); err != nil { // none of ours
		t.Fatal(err)
	}
	if name, err := tinyBundle(3).save(checkpoint.OS, dir, 1, func(string, int64) {}); err != nil || name != "step-00000003.zip" {
		t.Error(name, err)
	}
	entries, err := os.ReadDir(dir)
	if got := fmt.Sprint(entries); err != nil || got != "[- .tmp-mine d .tmp-step-00000004.zip/ - mine.zip - step-00000003.zip]" {
		t.Error(got, err)
	}
}

// TestBundleSaves fails every operation of saving in turn: what has a bundle's name is whole, and one that was there before is as it was. One of
// the same bytes is taken for the new one; another of the same step gets another name. A bundle is durable before it has its name, and its name before it is told of.
func TestBundleSaves(t *testing.T) {
	say := func(string, int64) {}
	for n := 0; ; n++ {
		dir := filepath.Join(t.TempDir(), "guard")
		if name, err := tinyBundle(2).save(checkpoint.OS, dir, 9, say); err != nil || name != "step-00000002.zip" {
			t.Fatal(name, err)
		}
		var done []string
		name, err := tinyBundle(3).save(checkpointtest.Hooked{FS: checkpoint.OS, Before: func(op, path string) error {
			if op == "create" && !strings.HasPrefix(filepath.Base(path), unfinished) {
				t.Errorf("%s would be written in its place", path)
			}
			if len(done) >= n && op != "remove" { // what cannot be removed does not count: see TestUnfinishedBundle
				return errDisk
			}
			done = append(done, op)
			return nil
		}}, dir, 9, say)
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if _, broken := ReadBundle(filepath.Join(dir, e.Name())); broken != nil {
				t.Errorf("operation %d: %v", n, broken)
			}
		}
		if len(entries) < 1 || err == nil && len(entries) != 2 {
			t.Errorf("operation %d: %v, %v", n, entries, err)
		}
		if err != nil && n < 40 {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if order := fmt.Sprint(slices.Compact(done)); order != "[mkdir create write sync close rename syncdir]" {
			t.Errorf("operations %s: the content must be durable before its name, and its name at the end", order)
		}
		if n < 6 || name != "step-00000003.zip" {
			t.Errorf("%s after %d operations", name, n)
		}
		other := tinyBundle(3)
		other.report.Cause = "another"
		for _, again := range []struct {
			b    *bundle
			want string
		}{{tinyBundle(3), "step-00000003.zip"}, {other, "step-00000003-2.zip"}, {other, "step-00000003-2.zip"}, {tinyBundle(3), "step-00000003.zip"}} {
			if name, err := again.b.save(checkpoint.OS, dir, 3, say); err != nil || name != again.want {
				t.Errorf("%s, %v, wants %s", name, err, again.want)
			}
		}
		if _, err := tinyBundle(4).save(checkpoint.OS, dir, 3, say); !errors.Is(err, errNoRoom) {
			t.Errorf("a fourth bundle of three: %v", err)
		}
		return
	}
}

// TestNoRoomIsSeenFirst wants nothing to be read of a step where its bundle has no place: the loop here has no weights.
func TestNoRoomIsSeenFirst(t *testing.T) {
	l := &loop{Job: Job{Dir: t.TempDir()}}
	l.Train.Guard.Bundles = 1
	dir := filepath.Join(l.Dir, BundleFolder)
	if name, err := tinyBundle(3).save(checkpoint.OS, dir, 1, func(string, int64) {}); err != nil {
		t.Fatal(name, err)
	}
	if _, err := l.bundle(Report{Step: 4}); !errors.Is(err, errNoRoom) {
		t.Error(err)
	}
	if err := bundleWanted(checkpoint.OS, dir, 3, 1); err != nil { // it may be the one that is there
		t.Error(err)
	}
}
