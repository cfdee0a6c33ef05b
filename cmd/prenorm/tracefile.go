package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// traceFile is the file of --profile. It is opened at the start, where a path that cannot be written costs nothing yet, and stays as it was,
// or away, until something is written.
type traceFile struct {
	*os.File
	made    bool // it did not exist
	written bool
}

func openTrace(path string) (*traceFile, error) {
	_, err := os.Lstat(path)
	made := errors.Is(err, fs.ErrNotExist)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return nil, usageError{fmt.Errorf("--profile: %w", err)}
	}
	return &traceFile{File: file, made: made}, nil
}

// Write empties the file before the first bytes. What is no regular file cannot be emptied.
func (t *traceFile) Write(p []byte) (int, error) {
	if !t.written {
		t.written = true
		if info, err := t.Stat(); err == nil && info.Mode().IsRegular() {
			if err := t.Truncate(0); err != nil {
				return 0, err
			}
		}
	}
	return t.File.Write(p)
}

// Close removes the file where nothing came into it.
func (t *traceFile) Close() error {
	err := t.File.Close()
	if t.made && !t.written {
		err = errors.Join(err, os.Remove(t.Name()))
	}
	return err
}
