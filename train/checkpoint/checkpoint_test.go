package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"prenorm/train/safetensors"
)

// root is the folder of checkpoints in a memoryFS.
var root = filepath.Join("run", "checkpoints")

// snapshot is a small checkpoint whose every part depends on the step and on version.
func snapshot(step int64, version string) Snapshot {
	x := float32(step) + float32(len(version)) + float32(version[0])/256
	return Snapshot{
		Step:      step,
		Weights:   []safetensors.Tensor{safetensors.New("wte", []int{2, 2}, []float32{x, 1, 2, 3}), safetensors.New("gain", []int{1}, []float32{-x})},
		Optimizer: []safetensors.Tensor{safetensors.New("m", []int{5}, []float32{0, x, 0, 0, 1})},
		Metadata:  map[string]string{"version": version},
		State:     map[string]any{"cursor": step, "version": version},
		Files:     map[string][]byte{"config.yaml": []byte("version: " + version + "\n"), "tokenizer.json": []byte("{}"), "empty": nil},
	}
}

// same compares a loaded checkpoint with the snapshot that it should hold.
func same(l *Loaded, s Snapshot) error {
	state, err := json.Marshal(s.State)
	if err != nil {
		return err
	}
	equalTensor := func(a, b safetensors.Tensor) bool {
		return a.Name == b.Name && a.DType == b.DType && slices.Equal(a.Shape, b.Shape) && bytes.Equal(a.Data, b.Data)
	}
	switch {
	case l.Step != s.Step:
		return fmt.Errorf("step %d, want %d", l.Step, s.Step)
	case !slices.EqualFunc(l.Weights, s.Weights, equalTensor):
		return fmt.Errorf("weights %v, want %v", l.Weights, s.Weights)
	case !slices.EqualFunc(l.Optimizer, s.Optimizer, equalTensor):
		return fmt.Errorf("optimizer %v, want %v", l.Optimizer, s.Optimizer)
	case !maps.Equal(l.Metadata, s.Metadata):
		return fmt.Errorf("metadata %v, want %v", l.Metadata, s.Metadata)
	case !bytes.Equal(l.State, state):
		return fmt.Errorf("state %s, want %s", l.State, state)
	case !maps.EqualFunc(l.Files, s.Files, bytes.Equal):
		return fmt.Errorf("files %q, want %q", l.Files, s.Files)
	}
	return nil
}

// TestOnDisk goes through a run's life on the real file system.
func TestOnDisk(t *testing.T) {
	root := filepath.Join(t.TempDir(), "checkpoints")
	if dir, refused, err := Latest(OS, root); dir != "" || refused != nil || err != nil {
		t.Fatalf("latest of no folder: %q, %v, %v", dir, refused, err)
	}
	for _, step := range []int64{0, 100, 200, 123456789, 200} {
		dir, err := Save(OS, root, snapshot(step, "a"))
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(root, fmt.Sprintf("step-%08d", step)); dir != want {
			t.Errorf("saved to %s, want %s", dir, want)
		}
	}
	dir, refused, err := Latest(OS, root)
	if err != nil || len(refused) > 0 || filepath.Base(dir) != "step-123456789" {
		t.Fatalf("latest %q, %v, %v", dir, refused, err)
	}
	loaded, err := Load(OS, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := same(loaded, snapshot(123456789, "a")); err != nil {
		t.Error(err)
	}
	weights, err := LoadWeights(OS, dir)
	if err != nil || weights.Optimizer != nil {
		t.Fatalf("LoadWeights: optimizer %v, error %v", weights.Optimizer, err)
	}
	if _, err := Save(OS, root, snapshot(123456789, "b")); err != nil {
		t.Fatal(err)
	}
	if loaded, err = Load(OS, dir); err != nil || same(loaded, snapshot(123456789, "b")) != nil {
		t.Errorf("replaced checkpoint: %v, %v", same(loaded, snapshot(123456789, "b")), err)
	}
	if removed, err := Prune(OS, root, Keep{Newest: 2}); err != nil || len(removed) != 2 {
		t.Errorf("pruned %v, %v; want 2", removed, err)
	}
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 2 || entries[0].Name() != "step-00000200" {
		t.Errorf("left over: %v, %v", entries, err)
	}
	f, err := safetensors.Open(filepath.Join(dir, "model.safetensors"))
	if err != nil || len(f.Tensors) != 2 {
		t.Errorf("weights as a plain safetensors file: %v, %v", f, err)
	}
}

// TestMovedFolder: a checkpoint is self-contained, so that a copy under any name can be loaded.
func TestMovedFolder(t *testing.T) {
	m := newMemoryFS()
	savesAll(t, m, snapshot(7, "a"))
	if err := m.Rename(join(root, folderName(7)), join(root, "best")); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(m, join(root, "best"))
	if err != nil || same(loaded, snapshot(7, "a")) != nil {
		t.Errorf("moved folder: %v", err)
	}
	if err := m.Rename(join(root, "best"), join(root, folderName(8))); err != nil {
		t.Fatal(err)
	}
	if _, refused, err := Latest(m, root); err == nil || len(refused) != 1 || !strings.Contains(err.Error(), "is of step 7, the folder's name is of step 8") {
		t.Errorf("folder of another step: %v, %v", refused, err)
	}
}

func savesAll(t *testing.T, m *memoryFS, list ...Snapshot) {
	t.Helper()
	if m.find("run") == nil {
		if err := m.Mkdir("run"); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range list {
		if _, err := Save(m, root, s); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEveryByteFlips changes each byte of each file in several ways: the checkpoint is refused and the one before it found, or it still
// says the same.
func TestEveryByteFlips(t *testing.T) {
	m := newMemoryFS()
	before, damaged := snapshot(1, "a"), snapshot(2, "b")
	savesAll(t, m, before, damaged)
	dir := join(root, folderName(2))
	changes, harmless := 0, 0
	for name, file := range m.find(dir).entries {
		for i, original := range file.data {
			for _, mask := range []byte{1 << (i % 8), 32, 255} {
				file.data[i] = original ^ mask
				changes++
				latest, refused, err := Latest(m, root)
				if err != nil {
					t.Fatalf("%s byte %d mask %d: %v", name, i, mask, err)
				}
				want := before
				if latest == dir {
					want, harmless = damaged, harmless+1
					if name != manifestFile {
						t.Errorf("%s byte %d mask %d: not noticed", name, i, mask)
					}
				} else if len(refused) != 1 || refused[0].Dir != dir {
					t.Errorf("%s byte %d mask %d: refused %v", name, i, mask, refused)
				} else if _, err := Load(m, dir); err == nil {
					t.Errorf("%s byte %d mask %d: loaded though refused", name, i, mask)
				}
				loaded, err := Load(m, latest)
				if err != nil {
					t.Fatal(err)
				}
				if err := same(loaded, want); err != nil {
					t.Errorf("%s byte %d mask %d: %v", name, i, mask, err)
				}
			}
			file.data[i] = original
		}
	}
	t.Logf("%d changes of a byte, %d of them accepted: letter case and white space of the manifest", changes, harmless)
	if harmless > 200 {
		t.Errorf("%d changes were accepted, more than white space and letter case in the manifest explain", harmless)
	}
}

// TestTruncated cuts every file at every length.
func TestTruncated(t *testing.T) {
	m := newMemoryFS()
	savesAll(t, m, snapshot(2, "b"))
	dir := join(root, folderName(2))
	for name, file := range m.find(dir).entries {
		full := file.data
		for n := range full {
			file.data = full[:n]
			if _, err := Load(m, dir); err == nil && !(name == manifestFile && n == len(full)-1) { // the last line break says nothing
				t.Errorf("%s of %d bytes instead of %d was loaded", name, n, len(full))
			}
		}
		file.data = full
	}
	if _, err := Load(m, dir); err != nil {
		t.Error(err)
	}
}

func TestRefusedFolders(t *testing.T) {
	for name, c := range map[string]struct {
		change func(n *node)
		want   string
	}{
		"a file is missing":     {func(n *node) { delete(n.entries, "config.yaml") }, "config.yaml: is missing"},
		"the manifest is gone":  {func(n *node) { delete(n.entries, manifestFile) }, "manifest.json: is missing"},
		"a pipe":                {func(n *node) { n.entries[modelFile].irregular = true }, "model.safetensors: is not a regular file"},
		"a folder":              {func(n *node) { n.entries[stateFile] = newFolder() }, "state.json: is not a regular file"},
		"a manifest of 17 MiB":  {func(n *node) { n.entries[manifestFile].data = make([]byte, 17<<20) }, "at most"},
		"two manifests in one":  {func(n *node) { d := &n.entries[manifestFile].data; *d = append(*d, *d...) }, "more after its end"},
		"an extra file is fine": {func(n *node) { n.entries["notes.txt"] = &node{data: []byte("mine")} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemoryFS()
			savesAll(t, m, snapshot(1, "a"), snapshot(2, "b"))
			dir := join(root, folderName(2))
			c.change(m.find(dir))
			latest, refused, err := Latest(m, root)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if latest != dir || len(refused) > 0 {
					t.Errorf("latest %s, refused %v", latest, refused)
				}
				return
			}
			if latest != join(root, folderName(1)) || len(refused) != 1 || !strings.Contains(refused[0].String(), c.want) {
				t.Errorf("latest %s, refused %v, want %q", latest, refused, c.want)
			}
			if _, err := Load(m, dir); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("Load: %v, want %q and the folder", err, c.want)
			}
		})
	}
}

// TestManifestRules seals manifests properly, so that only the rule itself refuses them.
func TestManifestRules(t *testing.T) {
	needed := []fileEntry{{Name: modelFile}, {Name: optimizerFile}, {Name: stateFile}}
	with := func(name string) []fileEntry { return append(slices.Clone(needed), fileEntry{Name: name}) }
	for name, c := range map[string]struct {
		m    manifest
		want string
	}{
		"good":            {manifest{2, 3, needed, ""}, ""},
		"an older format": {manifest{1, 3, needed, ""}, ""},
		"a newer format":  {manifest{3, 3, needed, ""}, "format 3 is newer than this program"},
		"no format":       {manifest{0, 3, needed, ""}, "format 0, this program reads formats 1 to 2"},
		"a long tensor": {manifest{2, 3, append(slices.Clone(needed), fileEntry{Name: "x", Size: 9, Tensors: []tensorEntry{{"a", 5, ""}, {"b", 5, ""}}}), ""},
			"gives b of x 5 bytes, of 4 that are left"},
		"tensors of format 1": {manifest{1, 3, append(slices.Clone(needed), fileEntry{Name: "x", Size: 9, Tensors: []tensorEntry{{"a", 5, ""}}}), ""}, "unknown field"},
		"negative step":       {manifest{1, -3, needed, ""}, "step is -3"},
		"no state":            {manifest{1, 3, needed[:2], ""}, "does not name state.json"},
		"negative size":       {manifest{1, 3, append(slices.Clone(needed), fileEntry{Name: "x", Size: -1}), ""}, "-1 bytes"},
		"twice":               {manifest{1, 3, with("STATE.json"), ""}, "twice"},
		"parent":              {manifest{1, 3, with(".."), ""}, "dot"},
		"path":                {manifest{1, 3, with("a/b"), ""}, "letters"},
		"backslash":           {manifest{1, 3, with(`..\b`), ""}, "letters"},
		"absolute":            {manifest{1, 3, with("/etc"), ""}, "letters"},
		"drive":               {manifest{1, 3, with("c:x"), ""}, "letters"},
		"empty":               {manifest{1, 3, with(""), ""}, "1 to 100"},
		"itself":              {manifest{1, 3, with("Manifest.json"), ""}, "reserved"},
		"not ASCII":           {manifest{1, 3, with("é"), ""}, "letters"},
		"no files at all":     {manifest{1, 3, nil, ""}, "does not name"},
	} {
		data, err := c.m.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeManifest(data)
		if c.want == "" {
			c.m.SHA256 = got.SHA256
			if err != nil || !reflect.DeepEqual(got, c.m) {
				t.Errorf("%s: %v, %v; want %v", name, got, err, c.m)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
	sealed, err := manifest{1, 3, needed, ""}.encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeManifest(bytes.Replace(sealed, []byte(`"step": 3`), []byte(`"step": 4`), 1)); err == nil || !strings.Contains(err.Error(), "own checksum") {
		t.Errorf("another step: %v", err)
	}
	for _, text := range []string{"", "null", "[]", `{"format":1,"extra":2}`, "\x00"} {
		if _, err := decodeManifest([]byte(text)); err == nil {
			t.Errorf("manifest %q was accepted", text)
		}
	}
}

// TestFurtherTensors wants a further file of tensors back as the bytes of one.
func TestFurtherTensors(t *testing.T) {
	root, s := filepath.Join(t.TempDir(), "checkpoints"), snapshot(1, "a")
	s.Tensors = map[string][]safetensors.Tensor{"more.safetensors": s.Weights}
	dir, err := Save(OS, root, s)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Load(OS, dir)
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Parse(l.Files["more.safetensors"])
	if err != nil || !reflect.DeepEqual(f.Tensors, l.Weights) || len(l.Files) != len(s.Files)+1 {
		t.Errorf("%v, %v", f, err)
	}
}

// TestSaveRefuses wants bad snapshots refused before anything is touched.
func TestSaveRefuses(t *testing.T) {
	for want, change := range map[string]func(*Snapshot){
		"step is -1":                   func(s *Snapshot) { s.Step = -1 },
		`file name "state.json"`:       func(s *Snapshot) { s.Files["state.json"] = nil },
		`file name "manifest.json"`:    func(s *Snapshot) { s.Files["manifest.json"] = nil },
		`file name "../x"`:             func(s *Snapshot) { s.Files["../x"] = nil },
		`is taken`:                     func(s *Snapshot) { s.Files["Config.yaml"] = nil },
		`name "optimizer.safetensors"`: func(s *Snapshot) { s.Tensors = map[string][]safetensors.Tensor{"optimizer.safetensors": nil} },
		`name "empty" is taken`:        func(s *Snapshot) { s.Tensors = map[string][]safetensors.Tensor{"empty": nil} },
		"state: json":                  func(s *Snapshot) { s.State = func() {} },
		`tensor "w"`:                   func(s *Snapshot) { s.Weights = []safetensors.Tensor{{Name: "w", DType: "F9"}} },
		`optimizer.safetensors: safe`:  func(s *Snapshot) { s.Optimizer = append(s.Optimizer, s.Optimizer[0]) },
	} {
		m := newMemoryFS()
		savesAll(t, m, snapshot(1, "a"))
		s := snapshot(1, "b")
		change(&s)
		if _, err := Save(m, root, s); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "not saved") {
			t.Errorf("%v, want an error with %q", err, want)
		}
		if err := only(m, snapshot(1, "a")); err != nil {
			t.Errorf("after %q: %v", want, err)
		}
		if names, _ := listNames(m, root); len(names) != 1 {
			t.Errorf("after %q: %v lie there", want, names)
		}
	}
	if _, err := Save(OS, filepath.Join(t.TempDir(), "absent", "checkpoints"), snapshot(1, "a")); err == nil {
		t.Error("saved below a run folder that does not exist")
	}
}

func TestList(t *testing.T) {
	m := newMemoryFS()
	savesAll(t, m, snapshot(20, "a"), snapshot(3, "a"))
	for _, name := range []string{"step-00000020.old", "step-20", "step-+0000020", "step--0000020", "step-000000020", "other", ".tmp-step-00000001", "step-123456789", "step-00000099.old.old"} {
		if err := m.Mkdir(join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := m.Create(join(root, "step-00000050"))
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	got, err := List(m, root)
	want := []Entry{
		{3, join(root, "step-00000003")}, {20, join(root, "step-00000020.old")}, {20, join(root, "step-00000020")}, {123456789, join(root, "step-123456789")},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("List = %v, %v; want %v", got, err, want)
	}
}

// TestPrune lists which of five checkpoints remain when some are damaged: 's' a file is cut off, 'c' a byte is changed.
func TestPrune(t *testing.T) {
	for _, c := range []struct {
		damage string
		keep   int
		want   string
	}{
		{".....", 0, "12345"}, {".....", -1, "12345"}, {".....", 2, "45"}, {".....", 5, "12345"}, {".....", 9, "12345"},
		{"s....", 2, "145"},                                                                   // damaged ones are left for their owner to look at
		{"....s", 2, "345"},                                                                   // and do not count
		{"....c", 1, "45"},                                                                    // the newest whole one stays beside a newer one whose sizes are right
		{"..ccc", 2, "12345"}, {"..ccc", 1, "2345"}, {"....c", 2, "345"}, {"...c.", 2, "345"}, // but take no place
		{"ccccc", 1, "12345"}, {"sssss", 1, "12345"},
	} {
		m := newMemoryFS()
		for i := range 5 {
			savesAll(t, m, snapshot(int64(i+1), "a"))
			model := m.find(join(root, folderName(int64(i+1)))).entries[modelFile]
			switch c.damage[i] {
			case 's':
				model.data = model.data[:9]
			case 'c':
				model.data[len(model.data)-1] ^= 1
			}
		}
		removed, err := Prune(m, root, Keep{Newest: c.keep})
		if err != nil {
			t.Fatal(err)
		}
		entries, err := List(m, root)
		if err != nil {
			t.Fatal(err)
		}
		left := ""
		for _, e := range entries {
			left += fmt.Sprint(e.Step)
		}
		if left != c.want || len(removed)+len(left) != 5 {
			t.Errorf("damage %s keep %d: left %s, removed %v; want %s left", c.damage, c.keep, left, removed, c.want)
		}
	}
}

// TestSettleKeepsBoth: while the replacement is damaged, neither of the two is given up.
func TestSettleKeepsBoth(t *testing.T) {
	m := newMemoryFS()
	savesAll(t, m)
	b, b2, b3 := snapshot(200, "b"), snapshot(200, "b2"), snapshot(200, "b3")
	both(t, m, &b, &b2)
	model := m.find(join(root, folderName(200))).entries[modelFile]
	model.data[len(model.data)-1] ^= 1
	if removed, err := Clean(m, root); err != nil || len(removed) > 0 {
		t.Errorf("removed %v, %v", removed, err)
	}
	dir, refused, err := Latest(m, root)
	if err != nil || !strings.HasSuffix(dir, oldSuffix) || len(refused) != 1 {
		t.Fatalf("latest %s, refused %v, %v", dir, refused, err)
	}
	if loaded, err := Load(m, dir); err != nil || same(loaded, b) != nil {
		t.Errorf("the old one: %v", err)
	}
	savesAll(t, m, b3)
	if entries, err := List(m, root); err != nil || len(entries) != 1 || only(m, b3) != nil {
		t.Errorf("after saving again: %v, %v, %v", entries, err, only(m, b3))
	}
}

func TestNoneWhole(t *testing.T) {
	m := newMemoryFS()
	savesAll(t, m, snapshot(1, "a"), snapshot(2, "b"))
	for step := range int64(2) {
		delete(m.find(join(root, folderName(step+1))).entries, modelFile)
	}
	dir, refused, err := Latest(m, root)
	if err == nil || dir != "" || len(refused) != 2 || !strings.Contains(err.Error(), "none of the 2") {
		t.Errorf("latest %q, refused %v, %v; want an error", dir, refused, err)
	}
}
