//go:build gpu

package cuda

import (
	"testing"

	"prenorm/kernels"
)

// TestFreeMemory wants an arena to be missing from the free memory.
func TestFreeMemory(t *testing.T) {
	var b kernels.Limited = opened(t)
	before, err := b.FreeMemory()
	if err != nil || before <= 0 {
		t.Fatalf("%d bytes free, %v", before, err)
	}
	const size = 64 << 20
	a, err := b.(*Backend).NewArena(size)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Free()
	after, err := b.FreeMemory()
	if err != nil || before-after < size/2 {
		t.Errorf("%d bytes free before %d were taken, %d after, %v", before, size, after, err)
	}
}
