// Package checkpointtest stands between the checkpoints and the file system in tests of what calls them.
package checkpointtest

import (
	"io/fs"

	"prenorm/train/checkpoint"
)

// Hooked is a file system that asks before every operation that writes. It may be used by several goroutines where Before may.
type Hooked struct {
	checkpoint.FS
	// Before is told the operation (create, write, sync, close, mkdir, rename, remove, syncdir) and the path; its error is the operation's,
	// which then has no effect.
	Before func(op, path string) error
}

// Create implements [checkpoint.FS].
func (h Hooked) Create(path string) (checkpoint.File, error) {
	if err := h.Before("create", path); err != nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: err}
	}
	f, err := h.FS.Create(path)
	return &file{f, path, h.Before}, err
}

// Mkdir implements [checkpoint.FS].
func (h Hooked) Mkdir(path string) error { return h.do("mkdir", path, h.FS.Mkdir) }

// Remove implements [checkpoint.FS].
func (h Hooked) Remove(path string) error { return h.do("remove", path, h.FS.Remove) }

// SyncDir implements [checkpoint.FS].
func (h Hooked) SyncDir(path string) error { return h.do("syncdir", path, h.FS.SyncDir) }

// Rename implements [checkpoint.FS].
func (h Hooked) Rename(from, to string) error {
	return h.do("rename", to, func(string) error { return h.FS.Rename(from, to) })
}

func (h Hooked) do(op, path string, act func(string) error) error {
	if err := h.Before(op, path); err != nil {
		return &fs.PathError{Op: op, Path: path, Err: err}
	}
	return act(path)
}

type file struct {
	checkpoint.File
	path   string
	before func(op, path string) error
}

func (f *file) Write(p []byte) (int, error) {
	if err := f.before("write", f.path); err != nil {
		return 0, &fs.PathError{Op: "write", Path: f.path, Err: err}
	}
	return f.File.Write(p)
}

func (f *file) Sync() error {
	if err := f.before("sync", f.path); err != nil {
		return &fs.PathError{Op: "sync", Path: f.path, Err: err}
	}
	return f.File.Sync()
}

func (f *file) Close() error {
	err := f.before("close", f.path)
	if closeErr := f.File.Close(); err == nil {
		return closeErr
	}
	return &fs.PathError{Op: "close", Path: f.path, Err: err}
}
