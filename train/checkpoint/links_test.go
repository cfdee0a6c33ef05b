package checkpoint

import (
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
