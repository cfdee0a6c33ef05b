package train

import (
	"errors"
	"path/filepath"
	"strings"

	"prenorm/train/checkpoint"
)

// countBundles is how many a folder holds.
func countBundles(fsys checkpoint.FS, dir string) (int, error) {
	entries, err := fsys.ReadDir(dir)
	n := 0
	for _, e := range entries {
		if isBundle(e.Name()) {
			n++
		}
	}
	return n, err
}

func isBundle(name string) bool {
	return strings.HasPrefix(name, bundlePrefix) && strings.HasSuffix(name, bundleSuffix)
}

// dropUnfinished removes what a process that was killed while it wrote a bundle has left.
func dropUnfinished(fsys checkpoint.FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Name(), unfinished); ok && isBundle(name) {
			err = errors.Join(err, fsys.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}
