package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestLinksAreRefused puts links that lead out of the run's folder in the place of a checkpoint's file and of its folder: neither is followed.
func TestLinksAreRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	root, outside := filepath.Join(t.TempDir(), "checkpoints"), t.TempDir()
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := Save(OS, root, snapshot(3, "a"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{stateFile, modelFile, manifestFile, "config.yaml"} {
		path, away := filepath.Join(dir, name), filepath.Join(outside, name)
		if err := os.Rename(path, away); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(away, path); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(OS, dir); err == nil || !strings.Contains(err.Error(), name+": is not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(away, path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Load(OS, dir); err != nil {
		t.Fatal(err)
	}
	away := filepath.Join(outside, filepath.Base(dir))
	if err := os.Rename(dir, away); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(away, dir); err != nil {
		t.Fatal(err)
	}
	if found, _, err := Latest(OS, root); found != "" || err != nil {
		t.Errorf("found %q through a link, %v", found, err)
	}
}

// outsider is a folder outside the run that links lead to, with something in it.
func outsider(t *testing.T) (dir string, untouched func()) {
	t.Helper()
	dir = t.TempDir()
	path := filepath.Join(dir, "precious")
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, func() {
		t.Helper()
		if data, err := os.ReadFile(path); err != nil || string(data) != "x" {
			t.Errorf("what a link leads to is %q, %v", data, err)
		}
	}
}

// TestOthersMakeWay puts what is no folder in the place of every name that saving, replacing, removing and cleaning need: they go on, and each
// thing is there afterwards under another name, with what links lead to.
func TestOthersMakeWay(t *testing.T) {
	outside, untouched := outsider(t)
	put := map[string]func(path string) error{"file": func(path string) error { return os.WriteFile(path, []byte("mine"), 0o644) }}
	if runtime.GOOS != "windows" { // where links need a privilege
		put["link"] = func(path string) error { return os.Symlink(outside, path) }
		put["broken link"] = func(path string) error { return os.Symlink("nowhere", path) }
	}
	one, two := folderName(1), folderName(2)
	for _, c := range []struct {
		name string
		act  func(root string) error
	}{
		{two, func(root string) error { _, err := Save(OS, root, snapshot(2, "b")); return err }},
		{two + oldSuffix, func(root string) error { _, err := Save(OS, root, snapshot(2, "b")); return err }},
		{one + oldSuffix, func(root string) error { _, err := Save(OS, root, snapshot(1, "b")); return err }},
		{tempPrefix + two, func(root string) error { _, err := Save(OS, root, snapshot(2, "b")); return err }},
		{tempPrefix + one + "-removed", func(root string) error {
			if _, err := Save(OS, root, snapshot(2, "b")); err != nil {
				return err
			}
			_, err := Prune(OS, root, Keep{Newest: 1})
			return err
		}},
		{one, func(root string) error { // the replacement of step 1 was cut short
			_, err := Clean(OS, root)
			return err
		}},
	} {
		for kind, make := range put {
			root := filepath.Join(t.TempDir(), "checkpoints")
			dir, err := Save(OS, root, snapshot(1, "a"))
			if err != nil {
				t.Fatal(err)
			}
			if c.name == one {
				if err := os.Rename(dir, dir+oldSuffix); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join(root, c.name)
			if err := make(path); err != nil {
				t.Fatal(err)
			}
			was, _ := os.Lstat(path)
			others, err := Others(OS, root)
			if named := !strings.HasPrefix(c.name, tempPrefix); err != nil || (len(others) == 1) != named || named && (others[0].Path != path || !strings.Contains(others[0].String(), " and no folder, so no checkpoint")) {
				t.Errorf("a %s %s: told of %v, %v", kind, c.name, others, err)
			}
			if err := c.act(root); err != nil {
				t.Errorf("a %s %s: %v", kind, c.name, err)
			}
			if is, err := os.Lstat(path + asidePart + "1"); err != nil || !os.SameFile(was, is) {
				t.Errorf("a %s %s is not there any more: %v", kind, c.name, err)
			}
			if dir, refused, err := Latest(OS, root); err != nil || dir == "" || len(refused) > 0 {
				t.Errorf("a %s %s: newest %q, refused %v, %v", kind, c.name, dir, refused, err)
			}
			untouched()
		}
	}
}

// TestOthersPassedOver wants what is no folder to be left alone under its name by whatever does not need the name, and to be told of.
func TestOthersPassedOver(t *testing.T) {
	m := newMemoryFS()
	savesAll(t, m, snapshot(1, "a"), snapshot(2, "b"))
	for _, name := range []string{"step-00000003", "step-00000003.old", "notes"} {
		f, err := m.Create(join(root, name))
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
		m.find(join(root, name)).irregular = true
	}
	if removed, err := Clean(m, root); err != nil || len(removed) > 0 {
		t.Errorf("removed %v, %v", removed, err)
	}
	savesAll(t, m, snapshot(4, "d"))
	if _, err := Prune(m, root, Keep{Newest: 1}); err != nil {
		t.Error(err)
	}
	if moved, err := SetAside(m, root, 3); err != nil || len(moved) != 1 {
		t.Error(moved, err)
	}
	others, err := Others(m, root)
	text := fmt.Sprint(others)
	if err != nil || len(others) != 2 || strings.Count(text, "is a pipe and no folder") != 2 || strings.Contains(text, "notes") {
		t.Errorf("told of %v, %v", others, err)
	}
	if others, err := Others(m, "absent"); err != nil || len(others) > 0 {
		t.Errorf("in no folder: %v, %v", others, err)
	}
}
