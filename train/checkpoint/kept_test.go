package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"prenorm/train/safetensors"
)

// orders notes the names that are renamed, and what is synced.
type orders struct {
	FS
	done []string
	stop error // of closing files
}

func (o *orders) Rename(from, to string) error {
	o.done = append(o.done, "rename "+to[strings.LastIndexAny(to, `/\`)+1:])
	return o.FS.Rename(from, to)
}

func (o *orders) SyncDir(path string) error {
	o.done = append(o.done, "sync")
	return o.FS.SyncDir(path)
}

func (o *orders) Create(path string) (File, error) {
	f, err := o.FS.Create(path)
	return unclosed{f, o.stop}, err
}

type unclosed struct {
	File
	err error
}

func (u unclosed) Close() error { return errors.Join(u.File.Close(), u.err) }

// TestAsideOrder wants checkpoints to be set aside newest first and to come back oldest first, so that at any moment what counts is all of a
// beginning of the run, and both to be durable at the end.
func TestAsideOrder(t *testing.T) {
	m := newMemoryFS()
	savesAll(t, m, snapshot(1, "a"), snapshot(2, "b"), snapshot(3, "c"))
	o := &orders{FS: m}
	moved, err := SetAside(o, root, 1)
	if want := []string{"rename step-00000003.aside-1", "rename step-00000002.aside-1", "sync"}; err != nil || !slices.Equal(o.done, want) {
		t.Errorf("%v, want %v, %v", o.done, want, err)
	}
	o.done = nil
	err = PutBack(o, root, moved)
	if want := []string{"rename step-00000002", "rename step-00000003", "sync"}; err != nil || !slices.Equal(o.done, want) {
		t.Errorf("%v, want %v, %v", o.done, want, err)
	}
}

// TestCloseFails wants a file that cannot be closed not to count as written.
func TestCloseFails(t *testing.T) {
	m := newMemoryFS()
	savesAll(t, m, snapshot(1, "a"))
	if _, err := Save(&orders{FS: m, stop: io.ErrClosedPipe}, root, snapshot(2, "b")); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	if err := only(m, snapshot(1, "a")); err != nil {
		t.Error(err)
	}
}

// TestCleanLeavesForeign wants only what saving has left to be removed.
func TestCleanLeavesForeign(t *testing.T) {
	m := newMemoryFS()
	savesAll(t, m, snapshot(1, "a"))
	for _, name := range []string{".tmp-step-00000002", ".tmp-mine", ".git"} {
		if err := m.Mkdir(join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := Clean(m, root)
	if want := []string{join(root, ".tmp-step-00000002")}; err != nil || !slices.Equal(removed, want) {
		t.Errorf("removed %v, want %v, %v", removed, want, err)
	}
	if got := treeOf(t, m); got != ".git .tmp-mine step-00000001" {
		t.Error(got)
	}
}

// TestReplaceKeepsWhole saves a step again of which a replacement that was cut short has left two: a damaged one, and the whole one under
// the other name. Until the third is durable the whole one is never given up.
func TestReplaceKeepsWhole(t *testing.T) {
	begun := newMemoryFS()
	savesAll(t, begun, snapshot(1, "a"))
	dir := join(root, folderName(1))
	if err := begun.Rename(dir, dir+oldSuffix); err != nil {
		t.Fatal(err)
	}
	savesAll(t, begun, snapshot(2, "b"))
	if err := begun.Rename(join(root, folderName(2)), dir); err != nil { // its manifest is of another step: it is damaged
		t.Fatal(err)
	}
	for at := 1; ; at++ {
		m := begun.clone()
		m.arm(failEver, at)
		_, err := Save(m, root, snapshot(1, "c"))
		count := m.count
		m.arm(noFault, 0)
		if dir, _, err := Latest(m, root); err != nil || dir == "" {
			t.Fatalf("operation %d: %v", at, err)
		}
		if count < at {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
	}
}

// TestPruneOrder wants the oldest of the checkpoints that go to go first: wherever that is cut short, those that are left are the newest.
func TestPruneOrder(t *testing.T) {
	m := newMemoryFS()
	savesAll(t, m, snapshot(1, "a"), snapshot(2, "b"), snapshot(3, "c"), snapshot(4, "d"), snapshot(5, "e"))
	o := &orders{FS: m}
	removed, err := Prune(o, root, Keep{Newest: 1, Every: 2})
	want := []string{"rename .tmp-step-00000001-removed", "sync", "rename .tmp-step-00000003-removed", "sync"}
	if err != nil || !slices.Equal(o.done, want) || !slices.Equal(removed, []string{join(root, folderName(1)), join(root, folderName(3))}) {
		t.Errorf("%v, want %v; removed %v, %v", o.done, want, removed, err)
	}
}

// TestLargestManifest wants no checkpoint to be saved whose manifest is larger than what is read, and none to be read that has grown so.
func TestLargestManifest(t *testing.T) {
	m := newMemoryFS()
	savesAll(t, m, snapshot(1, "a"))
	large := snapshot(2, "b")
	for i := range 18 {
		large.Weights = append(large.Weights, safetensors.New(fmt.Sprint(i, strings.Repeat("x", 1<<20)), []int{0}, []float32{}))
	}
	if _, err := Save(m, root, large); err == nil || !strings.Contains(err.Error(), "6 files and 21 tensors are too many for one checkpoint") {
		t.Error(err)
	}
	if err := only(m, snapshot(1, "a")); err != nil {
		t.Error(err)
	}
	manifest := m.find(join(join(root, folderName(1)), manifestFile))
	manifest.data = append(manifest.data, bytes.Repeat([]byte(" "), maxManifest+1-len(manifest.data))...)
	if _, err := Load(m, join(root, folderName(1))); err == nil || !strings.Contains(err.Error(), "has 16777217 bytes, at most 16777216 are read") {
		t.Error(err)
	}
}
