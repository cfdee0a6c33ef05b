package checkpoint

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestLinksInsideAreNotFollowed puts links into folders that are removed, an unfinished one and a checkpoint that is not kept: the links go, and what
// they lead to stays.
func TestLinksInsideAreNotFollowed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	root := filepath.Join(t.TempDir(), "checkpoints")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(root, 0o755))
	outside, untouched := outsider(t)
	for step := range int64(2) {
		_, err := Save(OS, root, snapshot(step, "a"))
		must(err)
	}
	old, unfinished := filepath.Join(root, folderName(0)), filepath.Join(root, tempPrefix+folderName(2))
	must(os.MkdirAll(filepath.Join(unfinished, "inner"), 0o755))
	for _, dir := range []string{old, unfinished, filepath.Join(unfinished, "inner")} {
		must(os.Symlink(outside, filepath.Join(dir, "folder")))
		must(os.Symlink(filepath.Join(outside, "precious"), filepath.Join(dir, "file")))
	}
	removed, err := Prune(OS, root, Keep{Newest: 1})
	if err != nil || len(removed) != 1 {
		t.Errorf("removed %v, %v", removed, err)
	}
	if removed, err = Clean(OS, root); err != nil || len(removed) != 1 {
		t.Errorf("removed %v, %v", removed, err)
	}
	untouched()
	if left, err := os.ReadDir(root); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}
