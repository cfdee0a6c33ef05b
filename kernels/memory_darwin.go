package kernels

import "golang.org/x/sys/unix"

// HostMemory is the machine's memory in bytes; 0 = not known.
func HostMemory() uint64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return n
}
