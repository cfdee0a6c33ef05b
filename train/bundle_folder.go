package train

import (
	"errors"
	"fmt"
	"io/fs"
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

// bundleWanted is errNoRoom where a folder holds all the bundles that it may and none of the step, which may be the same again: then nothing
// has to be read of the step.
func bundleWanted(fsys checkpoint.FS, dir string, step int64, most int) error {
	n, err := countBundles(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || n < most {
		return err
	}
	f, err := fsys.Open(filepath.Join(dir, bundleName(step, 1)))
	if errors.Is(err, fs.ErrNotExist) {
		return errNoRoom
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// bundleName is the name of the n-th bundle of a step.
func bundleName(step int64, n int) string {
	name := fmt.Sprintf("%s%08d", bundlePrefix, step)
	if n > 1 {
		name += fmt.Sprint("-", n)
	}
	return name + bundleSuffix
}

func isBundle(name string) bool {
	return strings.HasPrefix(name, bundlePrefix) && strings.HasSuffix(name, bundleSuffix)
}

// dropUnfinished removes what a process that was killed while it wrote a bundle has left.
func dropUnfinished(fsys checkpoint.FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Name(), unfinished); ok && isBundle(name) && e.Type().IsRegular() {
			err = errors.Join(err, fsys.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}
