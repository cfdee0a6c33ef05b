//go:build linux || darwin || freebsd

package shard

import "syscall"

// freeSpace is how many bytes an ordinary user may still write to the file system of an existing path.
func freeSpace(path string) (int64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil || s.Bsize <= 0 {
		return 0, false
	}
	return product(uint64(s.Bavail), uint64(s.Bsize)), true
}
