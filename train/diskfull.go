package train

import (
	"errors"
	"runtime"
	"syscall"
)

// DiskFull says whether an error is that of a disk without room, or of a quota that is used up.
func DiskFull(err error) bool {
	const windowsDiskFull = syscall.Errno(112)
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || runtime.GOOS == "windows" && errors.Is(err, windowsDiskFull)
}

// saveInWhatIsLeft saves the present state after something else had no room, as a moment later there may be some. What was measured comes first:
// a checkpoint whose steps are not in the measurements would leave a hole in them.
func (l *loop) saveInWhatIsLeft() error {
	if l.metrics.Again() != nil {
		return nil // of which the error that ended the run tells
	}
	return errors.Join(l.save(), l.settle())
}
