package corpus

import (
	"fmt"
	"io"
	"os"
)

// spool is a file for what has to be read more than once, or from any place, and is too large for memory.
type spool struct {
	*os.File
	size int64
	gone bool // its name is removed already
}

// newSpool copies r to a file in dir, which is made if it is missing; "" is the system's folder for such files.
func newSpool(dir string, readers ...io.Reader) (s *spool, err error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, err
		}
	}
	file, err := os.CreateTemp(dir, "spool.tmp-*") // a name that [shard.Sweep] knows, for what a killed process leaves
	if err != nil {
		return nil, err
	}
	s = &spool{File: file, gone: os.Remove(file.Name()) == nil} // an open file cannot be removed everywhere
	if s.size, err = io.Copy(file, io.MultiReader(readers...)); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close removes the file.
func (s *spool) Close() error {
	err := s.File.Close()
	if !s.gone {
		os.Remove(s.Name())
	}
	return err
}

// spooled is the error of a copy on disk that cannot be made.
func spooled(name, dir string, err error) error {
	if dir == "" {
		dir = os.TempDir()
	}
	return fmt.Errorf("%s: it has to be kept in a file in %s while it is read: %w", name, dir, err)
}
