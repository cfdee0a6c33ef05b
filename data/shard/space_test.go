package shard

import (
	"math"
	"path/filepath"
	"testing"
)

// TestFreeSpace asks for a folder that is there and for one that is not yet, which have the same disk.
func TestFreeSpace(t *testing.T) {
	dir := t.TempDir()
	here, known := FreeSpace(dir)
	if !known {
		t.Skip("this system does not tell")
	}
	there, known := FreeSpace(filepath.Join(dir, "a", "b"))
	if !known || here <= 0 || there <= 0 {
		t.Errorf("%d bytes here, %d below", here, there)
	}
	for _, c := range []struct {
		a, b uint64
		want int64
	}{{3, 4, 12}, {math.MaxUint64, 1, math.MaxInt64}, {1 << 40, 1 << 40, math.MaxInt64}, {0, 9, 0}} {
		if got := product(c.a, c.b); got != c.want {
			t.Errorf("%d times %d is %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
