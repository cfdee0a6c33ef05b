package checkpoint

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutation takes one protection out of a file of this package, or of one that depends on it.
type mutation struct {
	what     string
	file     string // from here
	from, to string
	pkg, run string // the tests that must fail
}

const (
	faults = "EveryOperation|PowerCut|SaveReports|Flips|Refused|Settle|SetAside|OnDisk"
	self   = "."
	loop   = ".."
)

var mutations = []mutation{
	{"a file's content is not synced", "save.go", "err = f.Sync()", "err = nil", self, faults},
	{"the folder's names are not synced", "save.go", "return fsys.SyncDir(dir)", "return nil", self, faults},
	{"the folder above the checkpoints is not synced", "save.go", "return fsys.SyncDir(filepath.Dir(root))", "return nil", self, faults},
	{"the new name is not synced", "save.go", "\tif err := fsys.Rename(temp, dir); err != nil {\n\t\treturn err\n\t}\n\tif err := fsys.SyncDir(root); err != nil {\n\t\treturn err\n\t}\n",
		"\tif err := fsys.Rename(temp, dir); err != nil {\n\t\treturn err\n\t}\n", self, faults},
	{"stepping aside is not synced", "save.go", "\t\thasOld = true\n\t\t// Without this, a power cut could leave two folders of one name on a file system that does not keep the order of operations.\n\t\tif err := fsys.SyncDir(root); err != nil {\n\t\t\treturn err\n\t\t}\n",
		"\t\thasOld = true\n", self, faults},
	{"written under the final name, without a rename", "save.go", "temp := join(root, tempPrefix+filepath.Base(dir))", "temp := join(root, filepath.Base(dir)+\".new\")\n\tif names, _ := listNames(fsys, root); !slices.Contains(names, filepath.Base(dir)) {\n\t\treturn dir, write(fsys, dir, s, state)\n\t}", self, faults},
	{"the one that is replaced is removed first", "save.go", "if err := fsys.Rename(dir, old); err != nil {", "hasDir = false\n\t\tif err := discard(fsys, root, dir); err != nil {", self, faults},
	{"the file's checksum is not looked at", "read.go", "sum == e.SHA256", "sum != \"\"", self, "Flips|TestOlderFormat|Names"},
	{"nor when looking for the newest", "read.go", "hex.EncodeToString(hash.Sum(nil)) == e.SHA256", "hex.EncodeToString(hash.Sum(nil)) != \"\"", self, "Flips|Names"},
	{"the tensors' checksums are not looked at", "sums.go", "if crcText(c.sum) != e.CRC32C {", "if false {", self, "Names|Changed"},
	{"nor the file's names of them", "sums.go", "if !slices.EqualFunc(", "if false && !slices.EqualFunc(", self, "OtherTensors"},
	{"a size is not looked at", "read.go", "if size != e.Size {", "if false {", self, "Truncated|Refused|TestPrune"},
	{"the manifest's own checksum is not looked at", "manifest.go", "err != nil || hexSum(again) != sum", "err != nil || hexSum(again) == sum+sum", self, "ManifestRules"},
	{"a newer format is read", "manifest.go", "if !known {", "if !known {\n\t\tread = readFormat2\n\t}\n\tif false {", self, "ManifestRules|NewerFormat"},
	{"no manifest is left", "save.go", "return fsys.SyncDir(dir)", "return fsys.Remove(join(dir, manifestFile))", self, faults},
	{"a damaged newest one is not passed over", "read.go", "refused = append(refused, Refused{entries[i].Dir, err})\n\t\t\tcontinue", "return entries[i].Dir, nil, nil", self, "Flips|Refused"},
	{"where none is whole, there seems to be none", "read.go", "if len(refused) > 0 {", "if false {", self, "NoneWhole"},
	{"a damaged one takes a place", "remove.go", "if known[e.Dir] = err == nil; err != nil {", "if known[e.Dir] = err == nil; false {", self, "TestPrune"},
	{"one that was cut off may go", "remove.go", "case !sizesRight(fsys, e.Dir):", "case false:", self, "TestPrune"},
	{"one of a newer format is removed", "remove.go", "!errors.Is(err, ErrNewer) {", "true || !errors.Is(err, ErrNewer) {", self, "NewerFormat"},
	{"one of a newer format is replaced", "save.go", "errors.Is(err, ErrNewer) {", "false && errors.Is(err, ErrNewer) {", self, "NewerFormat"},
	{"removed by content before its name", "remove.go", "if err := fsys.Rename(dir, temp); err != nil {", "if err := removeAll(fsys, dir); err != nil {", self, faults},
	{"the removed name is not synced", "remove.go", "\tif err := fsys.Rename(dir, temp); err != nil {\n\t\treturn err\n\t}\n\tif err := fsys.SyncDir(root); err != nil {\n\t\treturn err\n\t}\n",
		"\tif err := fsys.Rename(dir, temp); err != nil {\n\t\treturn err\n\t}\n", self, faults},
	{"the best is not kept", "keep.go", "at := slices.Index(k.Best, step)", "at := slices.Index(k.Best, -step-1)", self, "TestKeep|PowerCut"},
	{"leftovers stay", "remove.go", "if err := removeAll(fsys, path); err != nil {", "if false {\n\t\t\t\tvar err error", self, faults},
	{"a replacement is settled unseen", "remove.go", "if _, err := verify(fsys, dir); err != nil {\n\t\treturn false, nil\n\t}\n\treturn true", "return true", self, "Settle"},
	{"set aside without a sync", "aside.go", "if err := fsys.SyncDir(root); err != nil {\n\t\treturn moved, fmt", "if err := error(nil); err != nil {\n\t\treturn moved, fmt", self, "SetAside"},
	{"pruned before it is saved", "saver.go", "dir, err := Save(s.fsys, s.root, snap)", "if _, err := Prune(s.fsys, s.root, Keep{Newest: 1}); err != nil {\n\t\treturn saved{err: err}\n\t}\n\tdir, err := Save(s.fsys, s.root, snap)", self, "EveryOperation|PowerCut|TestSaver"},
	{"no lock", "lock.go", "ok, err := l.lock.TryLock()", "ok, err := true, error(nil)", self, "TestLock"},
	{"the second save does not wait", "../save.go", "\tif err := l.settle(); err != nil {\n\t\treturn err\n\t}\n\th := l.held", "\th := l.held", loop, "SecondSave"},
	{"the end does not wait", "../save.go", "\terr := l.settle()\n\tif l.failed {", "\tvar err error\n\tif l.failed {", loop, "LastSave|SecondSave|Resumed"},
	{"a failure in the background is not looked at", "../loop.go", "\tif err := l.lookBack(); err != nil {\n\t\treturn err\n\t}\n", "", loop, "BackgroundFailure"},
	{"what failed is not saved again", "../save.go", "if l.failed {", "if false {", loop, "BackgroundFailure|LastSave"},
	{"no copy is made", "../save.go", "h := l.held\n", "h, _ := newWindows(l.weights, l.stepper)\n\tl.held = h\n", loop, "SecondSave"},
	{"the step after the copy writes into it", "../held.go", "t.boxed = t.host", "t.host = t.device.F32()\n\t\tt.boxed = t.host", loop, "Held"},
	{"what is gone back to is copied while it is saved", "../heldback.go", "\tif err := l.settle(); err != nil {\n\t\treturn err\n\t}\n\treturn l.keepGood()", "\treturn l.keepGood()", loop, "GoodIsSaved"},
	{"the measurements are not made durable first", "../save.go", "l.metrics.Sync)", "func() error { return nil })", loop, "MeasurementsFirst"},
	{"evaluated before it is saved", "../loop.go", "\tif l.due(l.Checkpoint.Every, step) || l.late() {", "\tif err := l.observe(ctx, step); err != nil {\n\t\treturn err\n\t}\n\tif l.due(l.Checkpoint.Every, step) || l.late() {", loop, "SavesBefore|CopiesBefore"},
	{"a bundle's content is not synced", "../bundle.go", "err = f.Sync()", "err = nil", loop, "TestBundleSaves"},
	{"a bundle's name is not synced", "../bundle.go", "return name, fsys.SyncDir(dir)", "return name, nil", loop, "TestBundleSaves"},
	{"a new best is not saved", "../save.go", "if err := l.saveKeeping(there); err != nil {", "if false {\n\t\t\tvar err error", loop, "BestIsKept"},
}

// TestMutationsFit wants each protection to be where the list says, so that the list stays true.
func TestMutationsFit(t *testing.T) {
	for _, m := range mutations {
		text, err := os.ReadFile(m.file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), m.from); n != 1 {
			t.Errorf("%s: %q is %d times in %s", m.what, m.from, n, m.file)
		}
	}
}

// TestMutations takes out every protection, one at a time, and wants a test to fail. PRENORM_SLOW=1 runs it.
func TestMutations(t *testing.T) {
	if os.Getenv("PRENORM_SLOW") == "" {
		t.Skip("takes minutes: PRENORM_SLOW=1 runs it")
	}
	for _, m := range mutations {
		t.Run(m.what, func(t *testing.T) {
			file, err := filepath.Abs(m.file)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
			list, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
			if err != nil {
				t.Fatal(err)
			}
			for path, content := range map[string][]byte{changed: []byte(strings.Replace(string(text), m.from, m.to, 1)), overlay: list} {
				if err := os.WriteFile(path, content, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			c := exec.Command("go", "test", "-vet=off", "-failfast", "-timeout=90s", "-overlay", overlay, "-run", m.run, ".")
			c.Dir = m.pkg
			c.Env = append(os.Environ(), "PRENORM_SLOW=")
			out, err := c.CombinedOutput()
			switch {
			case err == nil:
				t.Errorf("no test fails:\n%s", out)
			case strings.Contains(string(out), "[build failed]"):
				t.Errorf("does not compile:\n%s", out)
			case strings.Contains(string(out), "no tests to run"):
				t.Errorf("there is no such test: %s", m.run)
			}
		})
	}
	t.Logf("%d protections taken out", len(mutations))
}
