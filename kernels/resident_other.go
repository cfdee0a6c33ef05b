//go:build !linux

package kernels

// ResidentMemory is how many bytes of memory this process holds now; 0 = not known.
func ResidentMemory() uint64 { return 0 }
