package kernels

import (
	"os"

	"golang.org/x/sys/unix"
)

// HostMemory is the machine's memory in bytes, or the least limit of this process's control groups where that is less; 0 = not known.
func HostMemory() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return limitedIn(os.DirFS("/"), uint64(info.Totalram)*uint64(info.Unit))
}
