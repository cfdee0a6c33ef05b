package kernels

import (
	"bytes"
	"os"
	"strconv"
)

// ResidentMemory is how many bytes of memory this process holds now; 0 = not known.
func ResidentMemory() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	words := bytes.Fields(text)
	if err != nil || len(words) < 2 {
		return 0
	}
	pages, err := strconv.ParseUint(string(words[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}
