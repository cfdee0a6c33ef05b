package shard

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"time"
)

// temporary is part of the name of every file that is still being written.
const temporary = ".tmp-"

// handle is what is asked of a file that is being written.
type handle interface {
	io.Writer
	io.WriterAt
	Sync() error
	Close() error
}

// system is the file system; tests put a failing one in its place.
type system interface {
	create(path string) (handle, error)           // fails if path exists
	open(path string, size int64) (handle, error) // cuts the file to size and writes behind it
	rename(from, to string) error
	remove(path string) error
	syncDir(path string) error
}

// disk is the real file system.
type disk struct{}

func (disk) create(path string) (handle, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}
func (disk) open(path string, size int64) (handle, error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	if err = f.Truncate(size); err == nil {
		_, err = f.Seek(size, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
func (disk) rename(from, to string) error { return os.Rename(from, to) }
func (disk) remove(path string) error     { return os.Remove(path) }

// syncDir makes a rename durable. Windows has no such call and journals the rename itself.
func (disk) syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// files is the file system that is written to.
var files system = disk{}

// draft is a file under a temporary name that becomes the file at path by commit: whoever opens path sees the old file or the whole
// new one, also after a power failure, and of several writers the last one wins.
type draft struct {
	handle
	path, temp string
	done       bool
}

// newDraft starts a file beside path. The name is random because two processes may write the same file.
func newDraft(path string) (*draft, error) {
	temp := fmt.Sprintf("%s%s%d-%08x", path, temporary, os.Getpid(), rand.Uint32())
	h, err := files.create(temp)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", path, err)
	}
	return &draft{handle: h, path: path, temp: temp}, nil
}

// commit gives the file its name, or removes it.
func (d *draft) commit() error {
	if err := d.place(); err != nil {
		d.abort()
		return err
	}
	return d.settle()
}

// place gives the file its name. With an error it keeps the temporary one.
func (d *draft) place() error {
	if d.done {
		return fmt.Errorf("writing %s: it is already closed", d.path)
	}
	err := d.Sync()
	if closed := d.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = files.rename(d.temp, d.path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", d.path, err)
	}
	d.done = true
	return nil
}

// settle makes the name durable.
func (d *draft) settle() error {
	if err := files.syncDir(filepath.Dir(d.path)); err != nil {
		return fmt.Errorf("writing %s: %w", d.path, err)
	}
	return nil
}

// abort removes the unfinished file; once it has its name, this does nothing.
func (d *draft) abort() {
	if !d.done {
		d.done = true
		d.Close()
		files.remove(d.temp)
	}
}

// WriteFile writes a small file all or nothing: a reader of path sees the old bytes or the new ones, never a part, also when the process
// is killed or the power fails. When it returns nil, the file is on disk.
func WriteFile(path string, content []byte) error {
	d, err := newDraft(path)
	if err != nil {
		return err
	}
	defer d.abort()
	if _, err := d.Write(content); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return d.commit()
}

// draftName splits the name of a file that is being written into that which it will have and the rest, which [newDraft] made.
var draftName = regexp.MustCompile(`^(.+)` + regexp.QuoteMeta(temporary) + `[0-9]+-[0-9a-f]{8}$`)

// SweepOwn removes the unfinished files in dir whose finished names own accepts, however young. The caller holds a lock without which nobody
// writes files of these names: whoever was at them is gone.
func SweepOwn(dir string, own func(name string) bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if parts := draftName.FindStringSubmatch(entry.Name()); parts != nil && entry.Type().IsRegular() && own(parts[1]) {
			err = errors.Join(err, files.remove(filepath.Join(dir, entry.Name())))
		}
	}
	return err
}

// Sweep removes the unfinished files that killed processes left in dir: once they are a day old, or 30 days where a process may go on with
// them. A file that cannot be removed is left for the next time.
func Sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && info.Mode().IsRegular() && stale(entry.Name(), time.Since(info.ModTime())) {
			os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}
