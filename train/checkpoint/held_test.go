package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// moved locks a folder and moves it away; replaced has another process lock a new folder of the name.
func moved(t *testing.T, replaced bool) (l *RunLock, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(dir, 0o777))
	l, err := Lock(dir)
	must(err)
	t.Cleanup(func() { _ = l.Unlock() })
	must(l.Held())
	if err := os.Rename(dir, dir+"-2"); err != nil {
		t.Skip("this system moves no folder with an open file: ", err)
	}
	if replaced {
		must(os.Mkdir(dir, 0o777))
		other, err := Lock(dir)
		must(err)
		t.Cleanup(func() { _ = other.Unlock() })
	}
	return l, dir
}

// TestHeld moves a locked folder away: that is told with its new place, nothing can be written under its old name, and what another process
// has put there stays.
func TestHeld(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		l, dir := moved(t, replaced)
		err := l.Held()
		if !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), "it is "+dir+"-2 now") {
			t.Fatalf("replaced %v: %v", replaced, err)
		}
		if err := os.Rename(dir+"-2", filepath.Join(t.TempDir(), "far")); err != nil {
			t.Fatal(err)
		}
		if err := l.Held(); !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), "where it was moved to") {
			t.Errorf("moved far: %v", err)
		}
		m := newMemoryFS()
		savesAll(t, m, snapshot(1, "a"))
		savesAll(t, m, snapshot(2, "b"))
		before := treeOf(t, m)
		g := l.Guard(m)
		if _, err := Save(g, root, snapshot(3, "c")); !errors.Is(err, ErrMoved) {
			t.Errorf("saved: %v", err)
		}
		if removed, err := Prune(g, root, Keep{Newest: 1}); len(removed) > 0 || !errors.Is(err, ErrMoved) {
			t.Errorf("removed %v, %v", removed, err)
		}
		_, created := g.Create(join(root, "x"))
		for _, err := range []error{created, g.Mkdir("x"), g.Rename("a", "b"), g.Remove("x"), g.SyncDir(root)} {
			if !errors.Is(err, ErrMoved) {
				t.Errorf("an operation: %v", err)
			}
		}
		if treeOf(t, m) != before {
			t.Errorf("something was written")
		}
		if dir, _, err := Latest(g, root); err != nil || dir != join(root, folderName(2)) {
			t.Errorf("cannot be read: %s, %v", dir, err)
		}
		if err := l.Remove(); !errors.Is(err, ErrMoved) {
			t.Errorf("the other's lock was removed: %v", err)
		}
		for _, name := range []string{"run.lock", "run.pid"} {
			if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != replaced {
				t.Errorf("replaced %v: %s: %v", replaced, name, err)
			}
		}
	}
}

// TestMovedIsQuoted wants the command that goes on in a folder of an odd name to be one that a shell takes.
func TestMovedIsQuoted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my run")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	l, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Unlock()
	if err := os.Rename(dir, dir+"'s"); err != nil {
		t.Skip("this system moves no folder with an open file: ", err)
	}
	want := "go on with prenorm train '" + dir + `'\''s'`
	if err := l.Held(); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestLockRemoved wants the lock's files to go with it, and who opened the file before to find that out.
func TestLockRemoved(t *testing.T) {
	dir := t.TempDir()
	l, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Remove(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left %v, %v", entries, err)
	}
	var none *RunLock
	if err := none.Held(); err != nil || none.Guard(OS) != OS {
		t.Errorf("no lock: %v", err)
	}
	if l, err = Lock(dir); err != nil || l.Held() != nil || l.Unlock() != nil {
		t.Errorf("locked anew: %v", err)
	}
}

// TestLockGoesLast wants the files of a lock to be removed while it is held: afterwards they may be those of the next.
func TestLockGoesLast(t *testing.T) {
	for removed, end := range map[string]func(*RunLock) error{"run.pid": (*RunLock).Unlock, "run.pid run.lock": (*RunLock).Remove} {
		dir := t.TempDir()
		l, err := Lock(dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		l.remove = func(path string) error {
			names = append(names, filepath.Base(path))
			if other, err := Lock(dir); err == nil {
				t.Errorf("%s is removed when others can take the lock", path)
				_ = other.Unlock()
			}
			return os.Remove(path)
		}
		if err := end(l); err != nil || !strings.HasPrefix(strings.Join(names, " "), removed) { // Windows may need a second try
			t.Errorf("removed %v, want %s: %v", names, removed, err)
		}
	}
}

// treeOf are the names of the checkpoints' folders.
func treeOf(t *testing.T, m *memoryFS) string {
	t.Helper()
	names, err := listNames(m, root)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// TestRemovedLockIsNobodys has many lock a folder and remove the lock again: whoever opened the file before it was removed, and locks it
// afterwards, does not hold the folder, in which another may have made a new one.
func TestRemovedLockIsNobodys(t *testing.T) {
	dir := t.TempDir()
	var holders, held atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 500 {
				l, err := Lock(dir)
				if err != nil {
					continue // in use
				}
				held.Add(1)
				if holders.Add(1) > 1 {
					t.Error("two hold one folder")
				}
				runtime.Gosched()
				holders.Add(-1)
				if err := l.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if held.Load() == 0 {
		t.Error("nobody held it")
	}
}
