package checkpoint

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/train/safetensors"
)

// TestOlderFormat reads a checkpoint that a program wrote when the format was 1, and wants every byte of it back.
func TestOlderFormat(t *testing.T) {
	dir := filepath.Join("testdata", "format-1")
	text := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	if sum := hexSum(text(manifestFile)); sum != "94a73d1b34b7f80a149a78acf1719af2ea17fe0c0ac5608b01a510aa04b20574" {
		t.Fatalf("the manifest in %s has the checksum %s: it is not the one that was kept", dir, sum)
	}
	l, err := Load(OS, dir)
	if err != nil {
		t.Fatal(err)
	}
	if l.Step != 3 || !bytes.Equal(l.State, text(stateFile)) || len(l.Files) != 2 {
		t.Errorf("step %d, %d files, state %s", l.Step, len(l.Files), l.State)
	}
	for name, content := range l.Files {
		if !bytes.Equal(content, text(name)) {
			t.Errorf("%s differs", name)
		}
	}
	for name, list := range map[string][]safetensors.Tensor{modelFile: l.Weights, optimizerFile: l.Optimizer} {
		var again bytes.Buffer
		var metadata map[string]string
		if name == modelFile {
			metadata = l.Metadata
		}
		if err := safetensors.Write(&again, list, metadata); err != nil {
			t.Fatal(err)
		}
		if len(list) < 9 || !bytes.Equal(again.Bytes(), text(name)) {
			t.Errorf("%s: %d tensors are not those that were written", name, len(list))
		}
	}
	root := t.TempDir()
	dir, err = Save(OS, root, Snapshot{Step: l.Step, Weights: l.Weights, Optimizer: l.Optimizer, Metadata: l.Metadata, State: l.State, Files: l.Files})
	if err != nil {
		t.Fatal(err)
	}
	now, err := Load(OS, dir)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := Compare(l, now); err != nil || !d.Same() {
		t.Errorf("saved again in format %d: %v, %v", format, d, err)
	}
}

// TestNewerFormat wants a checkpoint of a later program to be refused with what to do, and the one before it to be found.
func TestNewerFormat(t *testing.T) {
	m := newMemoryFS()
	savesAll(t, m, snapshot(1, "a"), snapshot(2, "b"))
	dir := join(root, folderName(2))
	newerFormat(m, dir)
	latest, refused, err := Latest(m, root)
	if err != nil || latest != join(root, folderName(1)) || len(refused) != 1 || !strings.Contains(refused[0].String(), "format 3 is newer than this program, which reads formats 1 to 2: use the version") {
		t.Errorf("latest %s, refused %v, error %v", latest, refused, err)
	}
}

// newerFormat makes a checkpoint one of a later program.
func newerFormat(m *memoryFS, dir string) {
	file := m.find(dir).entries[manifestFile]
	file.data = bytes.Replace(file.data, []byte(`"format": 2`), []byte(`"format": 3, "more": {}`), 1)
}

// TestNewerFormatStays saves where a checkpoint of a later program stands, under its name or that of one being replaced, and puts such folders
// in order: it is set aside, byte for byte, and never removed.
func TestNewerFormatStays(t *testing.T) {
	b, b2 := at(200, "b"), at(200, "b2")
	dir := join(root, folderName(200))
	save := func(m *memoryFS) error { _, err := Save(m, root, snapshot(200, "c")); return err }
	clean := func(m *memoryFS) error { _, err := Clean(m, root); return err }
	for name, c := range map[string]struct {
		before func(m *memoryFS)
		newer  string
		run    func(m *memoryFS) error
		want   string
	}{
		"in its place":              {func(m *memoryFS) { saves(b)(t, m) }, dir, save, dir + asidePart + "1"},
		"beside a whole one":        {func(m *memoryFS) { both(t, m, b, b2) }, dir + oldSuffix, save, dir + oldSuffix + asidePart + "1"},
		"before one being replaced": {func(m *memoryFS) { both(t, m, b, b2) }, dir, save, dir + asidePart + "1"},
		"alone, being replaced":     {func(m *memoryFS) { replaced(t, m, b) }, dir + oldSuffix, save, dir + oldSuffix + asidePart + "1"},
		"put in order":              {func(m *memoryFS) { both(t, m, b, b2) }, dir + oldSuffix, clean, dir + oldSuffix + asidePart + "1"},
		"one too many": {func(m *memoryFS) { saves(b)(t, m) }, dir, func(m *memoryFS) error {
			saves(at(300, "d"))(t, m)
			_, err := Prune(m, root, Keep{Newest: 1})
			return err
		}, dir},
	} {
		m := script{before: func(_ *testing.T, m *memoryFS) { c.before(m) }}.prepare(t)
		newerFormat(m, c.newer)
		manifest := string(m.find(c.newer).entries[manifestFile].data)
		if err := c.run(m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if there := m.find(c.want); there == nil || string(there.entries[manifestFile].data) != manifest {
			names, _ := listNames(m, root)
			t.Errorf("%s: it is not at %s; there are %v", name, c.want, names)
		}
	}
}

// TestOnlyNewerFormats wants checkpoints of which none can be read, one being of a later program, not to be called damaged.
func TestOnlyNewerFormats(t *testing.T) {
	m := newMemoryFS()
	savesAll(t, m, snapshot(1, "a"), snapshot(2, "b"))
	newerFormat(m, join(root, folderName(1)))
	newerFormat(m, join(root, folderName(2)))
	_, refused, err := Latest(m, root)
	var none *NoneWhole
	if !errors.As(err, &none) || !none.Newer() || !refused[0].Newer() || strings.Contains(err.Error(), "whole") || !strings.Contains(err.Error(), "can be read by this version of prenorm:\n  step-00000002: manifest.json: format 3") {
		t.Errorf("latest: %v", err)
	}
}

// TestNamesTheTensor changes bytes of tensors, and wants the error to name them.
func TestNamesTheTensor(t *testing.T) {
	m := newMemoryFS()
	savesAll(t, m, snapshot(2, "b"))
	dir := join(root, folderName(2))
	data := m.find(dir).entries[modelFile].data
	for _, c := range []struct {
		at   []int // from the end
		want string
	}{{[]int{1}, "in tensor gain"}, {[]int{5, 20}, "in tensor wte"}, {[]int{4, 6}, "in tensor wte and 1 more"}, {[]int{len(data) - 12}, "its content was changed"}} {
		for _, at := range c.at {
			data[len(data)-at] ^= 4
		}
		_, loaded := Load(m, dir)
		_, verified := verify(m, dir)
		for _, err := range []error{loaded, verified} {
			if err == nil || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("%v: %v, want %q", c.at, err, c.want)
			}
		}
		for _, at := range c.at {
			data[len(data)-at] ^= 4
		}
	}
}

// TestChangedWhileSaved changes a tensor between its checksum and its writing, as a copy would be that is filled anew too early.
func TestChangedWhileSaved(t *testing.T) {
	m := newMemoryFS()
	savesAll(t, m, snapshot(1, "a"))
	s := snapshot(2, "b")
	m.onCreate = func(path string) {
		if filepath.Base(path) == optimizerFile {
			s.Optimizer[0].Data[3] ^= 1
		}
	}
	savesAll(t, m, s)
	latest, refused, err := Latest(m, root)
	if err != nil || latest != join(root, folderName(1)) || len(refused) != 1 || !strings.Contains(refused[0].String(), "tensor m does not have its checksum: it changed while it was being saved") {
		t.Errorf("latest %s, refused %v, error %v", latest, refused, err)
	}
}

// TestOtherTensors seals a manifest that names a tensor which the file has under another name.
func TestOtherTensors(t *testing.T) {
	m := newMemoryFS()
	savesAll(t, m, snapshot(2, "b"))
	dir := join(root, folderName(2))
	file := m.find(dir).entries[manifestFile]
	sealed, err := decodeManifest(file.data)
	if err != nil {
		t.Fatal(err)
	}
	sealed.Files[0].Tensors[1].Name = "bias"
	if file.data, err = sealed.encode(); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(m, dir); err == nil || !strings.Contains(err.Error(), "model.safetensors: holds other tensors than the manifest names") {
		t.Errorf("loaded, %v", err)
	}
}
