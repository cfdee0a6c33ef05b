package train

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prenorm/data/token"
	"prenorm/train/checkpoint"
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

// failing is a file system whose n-th operation fails.
type failing struct {
	checkpoint.FS
	left *int
}

func (f failing) do() error {
	if *f.left--; *f.left < 0 {
		return fmt.Errorf("no space left on device")
	}
	return nil
}

type failingFile struct {
	checkpoint.File
	fs failing
}

func (f failing) Create(path string) (checkpoint.File, error) {
	if !strings.HasPrefix(filepath.Base(path), ".tmp-") {
		return nil, fmt.Errorf("%s would be written in its place", path)
	}
	if err := f.do(); err != nil {
		return nil, err
	}
	file, err := f.FS.Create(path)
	return failingFile{file, f}, err
}

func (f failing) Mkdir(path string) error {
	if err := f.do(); err != nil {
		return err
	}
	return f.FS.Mkdir(path)
}

func (f failing) Rename(from, to string) error {
	if err := f.do(); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f failing) SyncDir(path string) error {
	if err := f.do(); err != nil {
		return err
	}
	return f.FS.SyncDir(path)
}

func (f failingFile) Write(p []byte) (int, error) {
	if err := f.fs.do(); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	return f.File.Write(p)
}

func (f failingFile) Sync() error {
	if err := f.fs.do(); err != nil {
		return err
	}
	return f.File.Sync()
}

// TestUnfinishedBundle wants what a process left that was killed while it wrote a bundle to be removed, and not to count.
func TestUnfinishedBundle(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".tmp-step-00000002.zip", ".tmp-step-00000003.zip", "mine.zip", ".tmp-mine"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("cut off"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if name, err := tinyBundle(3).save(checkpoint.OS, dir, 1, func(string, int64) {}); err != nil || name != "step-00000003.zip" {
		t.Error(name, err)
	}
	entries, err := os.ReadDir(dir)
	if got := fmt.Sprint(entries); err != nil || got != "[- .tmp-mine - mine.zip - step-00000003.zip]" {
		t.Error(got, err)
	}
}

// TestBundleSaves fails every operation of saving in turn: what has a bundle's name is whole, and one that was there before is as it was. One of
// the same bytes is taken for the new one; another of the same step gets another name.
func TestBundleSaves(t *testing.T) {
	say := func(string, int64) {}
	for n := 0; ; n++ {
		dir := filepath.Join(t.TempDir(), "guard")
		if name, err := tinyBundle(2).save(checkpoint.OS, dir, 9, say); err != nil || name != "step-00000002.zip" {
			t.Fatal(name, err)
		}
		left := n
		name, err := tinyBundle(3).save(failing{checkpoint.OS, &left}, dir, 9, say)
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
