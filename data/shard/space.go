package shard

import (
	"math"
	"math/bits"
	"os"
	"path/filepath"
)

// FreeSpace is how many bytes may still be written at a path, which need not exist: its nearest folder that does counts. false = not known.
func FreeSpace(path string) (int64, bool) {
	at, err := filepath.Abs(path)
	if err != nil {
		return 0, false
	}
	for {
		if _, err := os.Stat(at); err == nil {
			return freeSpace(at)
		}
		above := filepath.Dir(at)
		if above == at {
			return 0, false
		}
		at = above
	}
}

// product is a*b, or the largest int64 where that is less.
func product(a, b uint64) int64 {
	high, low := bits.Mul64(a, b)
	if high != 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(low)
}
