package kernels

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// InHugePages asks the system to back memory that has not been touched with huge pages, where it gives them to those who ask: within one the
// processor fetches ahead, and it looks up fewer addresses. Where the system does not, all is as before.
func InHugePages(mem []byte) {
	page := os.Getpagesize()
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))) & (page - 1)
	if whole := (len(mem) - skip) &^ (page - 1); whole > 0 {
		_ = unix.Madvise(mem[skip:skip+whole], unix.MADV_HUGEPAGE) // advice: what comes of it does not show in results
	}
}
