//go:build !linux

package kernels

// InHugePages does nothing: this system chooses the size of pages itself.
func InHugePages([]byte) {}

// giveBack leaves memory to the garbage collector.
func giveBack([]byte) {}
