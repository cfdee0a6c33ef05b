package checkpoint

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"prenorm/data/regular"
)

// FS is what the package asks of a file system, so that a test can stand in for one that fails. Paths are joined with path/filepath.
type FS interface {
	Create(path string) (File, error) // a new file; one of that name is an error
	Open(path string) (fs.File, error)
	ReadDir(path string) ([]fs.DirEntry, error)
	Mkdir(path string) error
	Rename(from, to string) error // to does not exist
	Remove(path string) error     // a file or an empty folder
	SyncDir(path string) error    // makes names created, renamed and removed in a folder durable
}

// File is a file being written.
type File interface {
	io.Writer
	Sync() error // makes the content durable
	Close() error
}

// OS is the operating system's file system.
var OS FS = osFS{}

type osFS struct{}

func (osFS) Create(path string) (File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}
func (osFS) Open(path string) (fs.File, error) {
	f, err := regular.Open(path) // a pipe would be waited for
	if err != nil {
		return nil, err
	}
	return f, nil
}
func (osFS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }
func (osFS) Mkdir(path string) error                    { return os.Mkdir(path, 0o755) }
func (osFS) Rename(from, to string) error               { return os.Rename(from, to) }
func (osFS) Remove(path string) error                   { return os.Remove(path) }
func (osFS) SyncDir(path string) error                  { return syncDir(path) }

func notExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// removeAll removes a folder and what is in it. It follows no links, and a folder that does not exist is no error.
func removeAll(fsys FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if notExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := join(dir, e.Name())
		if isFolder(e) {
			err = removeAll(fsys, path)
		} else {
			err = fsys.Remove(path)
		}
		if err != nil && !notExist(err) {
			return err
		}
	}
	return fsys.Remove(dir)
}
