package checkpoint

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"prenorm/configs/problem/problemtest"
	"prenorm/train/safetensors"
)

// wholeOne is a memory file system with one checkpoint, and its folder.
func wholeOne(t testing.TB) (*memoryFS, string) {
	t.Helper()
	m := newMemoryFS()
	if err := m.Mkdir("run"); err != nil {
		t.Fatal(err)
	}
	dir, err := Save(m, filepath.Join("run", "checkpoints"), snapshot(7, "a"))
	if err != nil {
		t.Fatal(err)
	}
	return m, dir
}

// FuzzManifest puts any bytes in a manifest's place, once as they are and once sealed anew. A checkpoint is refused with the names of its folder
// and of a file, or what it names lies inside it.
func FuzzManifest(f *testing.F) {
	m, dir := wholeOne(f)
	whole := m.find(filepath.Join(dir, manifestFile)).data
	f.Add(whole)
	for _, s := range []string{"", "{}", `{"format":1}`, `{"format":2,"step":-1,"files":null}`, `{"format":1,"step":9223372036854775807,"files":[]}`,
		`{"format":1,"step":7,"files":[{"name":"../../etc/passwd","size":1},{"name":"/etc/passwd","size":1},{"name":"a\\b","size":1},{"name":"C:x"},{"name":"state.json","size":9223372036854775807}]}`,
		`{"format":1,"step":7,"files":[{"name":"model.safetensors","size":4611686018427387904},{"name":"optimizer.safetensors","size":0},{"name":"state.json","size":2}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, sealed := range []bool{false, true} {
			if sealed {
				var any manifest
				if json.Unmarshal(data, &any) != nil {
					return
				}
				var err error
				if data, err = any.encode(); err != nil {
					return
				}
			}
			problemtest.Bounded(t, len(data)+len(whole), 200, func() {
				again := m.clone()
				again.find(filepath.Join(dir, manifestFile)).data = data
				read(t, again, dir, manifestFile)
			})
		}
	})
}

// FuzzCheckpointFiles puts any bytes in the place of one of a checkpoint's files, with a manifest that knows them.
func FuzzCheckpointFiles(f *testing.F) {
	m, dir := wholeOne(f)
	names := []string{modelFile, optimizerFile, stateFile, "config.yaml"}
	for i, name := range names {
		if n := m.find(filepath.Join(dir, name)); n != nil {
			f.Add(uint(i), n.data)
		}
	}
	f.Add(uint(0), []byte{255, 255, 255, 255, 255, 255, 255, 127, '{', '}'})
	f.Add(uint(2), []byte(`{"step":-9223372036854775808}`))
	f.Fuzz(func(t *testing.T, which uint, data []byte) {
		name := names[which%uint(len(names))]
		for format := range readers {
			problemtest.Bounded(t, len(data), 400, func() {
				again := m.clone()
				if n := again.find(filepath.Join(dir, name)); n == nil {
					return
				} else {
					n.data = data
				}
				list := again.find(filepath.Join(dir, manifestFile))
				var err error
				if list.data, err = forged(t, list.data, format, name, data); err != nil {
					t.Fatal(err)
				}
				read(t, again, dir, name)
			})
		}
	})
}

// forged is a manifest, of a format, that knows the data of one of its files.
func forged(t *testing.T, list []byte, format int, name string, data []byte) ([]byte, error) {
	t.Helper()
	var all manifest
	if err := json.Unmarshal(list, &all); err != nil {
		t.Fatal(err)
	}
	all.Format = format
	for i, e := range all.Files {
		if e.Name == name {
			e.Size, e.SHA256 = int64(len(data)), hexSum(data)
			if file, err := safetensors.Parse(data); err == nil {
				e.Tensors = sumTensors(file.Tensors)
			}
		}
		if format == 1 {
			e.Tensors = nil
		}
		all.Files[i] = e
	}
	return all.encode()
}

// read reads a checkpoint in every way. What is refused is refused with the names of folder and file.
func read(t *testing.T, m *memoryFS, dir, name string) {
	t.Helper()
	l, err := Load(m, dir)
	if err != nil {
		problemtest.Says(t, err, dir)
	} else {
		for file := range l.Files {
			if !filepath.IsLocal(file) || filepath.Base(file) != file {
				t.Errorf("it names %q", file)
			}
		}
	}
	if _, auditErr := Audit(m, dir); auditErr != nil && err == nil {
		t.Errorf("it loads, and yet %v", auditErr)
	}
	_, _ = LoadWeights(m, dir)
	if found, refused, err := Latest(m, filepath.Dir(dir)); err != nil && len(refused) != 1 || err == nil && found != dir {
		t.Errorf("found %q, refused %v, %v", found, refused, err)
	}
}
