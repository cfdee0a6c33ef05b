package shard

import (
	"errors"
	"runtime"
	"syscall"
)

// Full says whether an error is that of a disk without room, or of a quota that is used up.
func Full(err error) bool {
	const windowsDiskFull = syscall.Errno(112)
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || runtime.GOOS == "windows" && errors.Is(err, windowsDiskFull)
}
