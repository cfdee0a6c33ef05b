package kernels

import "testing"

// TestHostLeft wants the less of what no arena holds and what other programs leave, and of these what is known.
func TestHostLeft(t *testing.T) {
	defer func(total, available func() uint64) { hostMemory, availableMemory = total, available }(hostMemory, availableMemory)
	arena, err := NewHostArena(1000)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = arena.Free() }()
	others := held.Load() - 1000
	for _, c := range []struct {
		total, available uint64
		want             int64
		known            bool
	}{{5000, 4500, 4000, true}, {5000, 3000, 3000, true}, {5000, 0, 4000, true}, {500, 700, 0, true}, {0, 700, 700, true}, {0, 0, 0, false}} {
		total := c.total
		if total > 0 {
			total += uint64(others)
		}
		hostMemory = func() uint64 { return total }
		availableMemory = func() uint64 { return c.available }
		if left, known := HostLeft(); left != c.want || known != c.known {
			t.Errorf("%d bytes, %d of them available and 1000 held: %d are left, known %v, want %d, %v", c.total, c.available, left, known, c.want, c.known)
		}
	}
}
