//go:build !linux

package kernels

// AvailableMemory is how many bytes of the host's memory a process can take, all of it where the system does not tell what is in use;
// 0 = not known.
func AvailableMemory() uint64 { return HostMemory() }
