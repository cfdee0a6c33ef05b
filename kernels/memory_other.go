//go:build !linux && !darwin

package kernels

// HostMemory is the machine's memory in bytes; 0 = not known.
func HostMemory() uint64 { return 0 }
