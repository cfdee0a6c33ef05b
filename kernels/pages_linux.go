package kernels

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// InHugePages asks the system to back memory that has not been touched with huge pages, where it gives them to those who ask: within one the
// processor fetches ahead, and it looks up fewer addresses. Where the system does not, all is as before.
func InHugePages(mem []byte) {
	if whole := wholePages(mem); len(whole) > 0 {
		_ = unix.Madvise(whole, unix.MADV_HUGEPAGE) // advice: what comes of it does not show in results
	}
}

// giveBack returns the whole pages in memory to the system at once, where the garbage collector would do so minutes later, if ever. What is read
// there afterwards is zero.
func giveBack(mem []byte) {
	if whole := wholePages(mem); len(whole) > 0 {
		_ = unix.Madvise(whole, unix.MADV_DONTNEED) // on failure it stays until the collector has run
	}
}

// wholePages is the part of memory that fills pages of its own.
func wholePages(mem []byte) []byte {
	page := os.Getpagesize()
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))) & (page - 1)
	if whole := (len(mem) - skip) &^ (page - 1); whole > 0 {
		return mem[skip : skip+whole]
	}
	return nil
}
