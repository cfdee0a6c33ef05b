package checkpoint

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"prenorm/configs/problem/problemtest"
)

// saved is a memory file system with one checkpoint, and its folder.
func saved(t testing.TB) (*memoryFS, string) {
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
	m, dir := saved(f)
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
	m, dir := saved(f)
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
		problemtest.Bounded(t, len(data), 400, func() {
			again := m.clone()
			n := again.find(filepath.Join(dir, name))
			if n == nil {
				return
			}
			n.data = data
			list := again.find(filepath.Join(dir, manifestFile))
			var all manifest
			if err := json.Unmarshal(list.data, &all); err != nil {
				t.Fatal(err)
			}
			for i, e := range all.Files {
				if e.Name == name {
					all.Files[i] = fileEntry{Name: name, Size: int64(len(data)), SHA256: hexSum(data)}
				}
			}
			var err error
			if list.data, err = all.encode(); err != nil {
				t.Fatal(err)
			}
			read(t, again, dir, name)
		})
	})
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
