package checkpoint

import (
	"errors"
	"io/fs"
)

// Stoppable is a file system whose files cannot be read any more once stop returns an error, which is then that of reading: a large checkpoint
// takes seconds to be read.
func Stoppable(fsys FS, stop func() error) FS { return stoppable{fsys, stop} }

type stoppable struct {
	FS
	stop func() error
}

func (s stoppable) Open(path string) (fs.File, error) {
	if err := s.stop(); err != nil {
		return nil, &stopError{err}
	}
	f, err := s.FS.Open(path)
	if err != nil {
		return nil, err
	}
	return stoppableFile{f, s.stop}, nil
}

type stoppableFile struct {
	fs.File
	stop func() error
}

func (f stoppableFile) Read(p []byte) (int, error) {
	if err := f.stop(); err != nil {
		return 0, &stopError{err}
	}
	return f.File.Read(p)
}

// stopError says that reading was stopped: what was read of a checkpoint by then says nothing of it.
type stopError struct{ err error }

func (e *stopError) Error() string { return e.err.Error() }
func (e *stopError) Unwrap() error { return e.err }

func stopped(err error) bool { return errors.As(err, new(*stopError)) }
