package main

import (
	"errors"

	"prenorm/configs"
	"prenorm/train"
)

// refused is the error of a run that was refused before its start, with the places of the keys. Another machine or other files may make it
// right, so that it is none of the command line.
type refused struct {
	problems error // one a line, as of a run file
	err      error
}

// located gives what training found wrong before its start the places of the keys; other errors stay as they are.
func located(l *configs.Loaded, err error) error {
	var r *train.Refused
	if !errors.As(err, &r) {
		return err
	}
	return refused{l.Locate(r.Problems), err}
}

func (r refused) Error() string { return "the run would not come to its end:\n" + r.problems.Error() }
func (r refused) Unwrap() error { return r.err }
