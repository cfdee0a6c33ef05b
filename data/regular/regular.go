// Package regular opens files that a run reads and writes by name, and no pipes or devices, whose opening may wait for ever.
package regular

import (
	"fmt"
	"io/fs"
	"os"
)

// Check refuses what is there and is neither a regular file nor a folder, by an [fs.PathError]. What cannot be looked at, or is not there, is left
// to whoever opens it.
func Check(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().IsRegular() || info.IsDir() {
		return nil
	}
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("is no regular file but %v: put a file in its place", info.Mode().Type())}
}

// Open is [os.Open] for what [Check] lets pass.
func Open(path string) (*os.File, error) {
	if err := Check(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// ReadFile is [os.ReadFile] for what [Check] lets pass.
func ReadFile(path string) ([]byte, error) {
	if err := Check(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
