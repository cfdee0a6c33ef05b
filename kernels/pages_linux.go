package kernels

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// giveBack returns the whole pages in memory to the system at once, where the garbage collector would do so minutes later, if ever. What is read
// there afterwards is zero.
func giveBack(mem []byte) {
	page := unix.Getpagesize()
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))) & (page - 1)
	if whole := (len(mem) - skip) &^ (page - 1); whole > 0 {
		_ = unix.Madvise(mem[skip:skip+whole], unix.MADV_DONTNEED) // on failure it stays until the collector has run
	}
}
