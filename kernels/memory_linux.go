package kernels

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// HostMemory is the machine's memory in bytes, or the limit of this process's control group where that is less; 0 = not known.
func HostMemory() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	total := uint64(info.Totalram) * uint64(info.Unit)
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
			total = min(total, limit)
		}
	}
	return total
}
