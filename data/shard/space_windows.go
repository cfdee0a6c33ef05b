package shard

import "golang.org/x/sys/windows"

// freeSpace is how many bytes this user may still write to the disk of an existing path.
func freeSpace(path string) (int64, bool) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, false
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil {
		return 0, false
	}
	return product(free, 1), true
}
