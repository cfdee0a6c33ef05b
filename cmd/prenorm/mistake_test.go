package main

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

// TestWithAdvice wants what can be done behind the system's own words, and nothing where somebody who knew more has said it.
func TestWithAdvice(t *testing.T) {
	inTiny(t)
	may := &fs.PathError{Op: "open", Path: "text.txt", Err: syscall.EACCES}
	for _, c := range []struct {
		err  error
		want string
	}{
		{may, "open text.txt: permission denied: this user may not do that there: change who may, or name another place"},
		{fmt.Errorf("--compare: %w", may), "--compare: open text.txt: permission denied: this user may not do that there: change who may, or name another place"},
		{fmt.Errorf("%w: do as I say", may), "open text.txt: permission denied: do as I say"},
		{&fs.PathError{Op: "read", Path: "text.txt", Err: syscall.EIO}, "read text.txt: input/output error"},
		{errors.New("else"), "else"},
	} {
		if got := withAdvice(c.err); got.Error() != c.want || !errors.Is(got, c.err) {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
