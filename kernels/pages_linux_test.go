package kernels

import (
	"fmt"
	"os"
	"testing"
)

// resident is how many pages of memory the process holds.
func resident(t *testing.T) (pages int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		var all int
		_, err = fmt.Sscan(string(text), &all, &pages)
	}
	if err != nil {
		t.Skip(err)
	}
	return pages
}

// TestFreedArenaIsGivenBack wants the memory of an arena to be the system's when it is freed, not when the garbage collector has run, and its
// views still to be read without harm.
func TestFreedArenaIsGivenBack(t *testing.T) {
	const size = 64 << 20
	arena, err := NewHostArena(size)
	if err != nil {
		t.Fatal(err)
	}
	v := arena.View(0, I8, size)
	for i := range v.Host {
		v.Host[i] = 1
	}
	before := resident(t)
	if err := arena.Free(); err != nil {
		t.Fatal(err)
	}
	if back := (before - resident(t)) * os.Getpagesize(); back < size/2 {
		t.Errorf("%d bytes came back of an arena of %d", back, size)
	}
	if sum := v.Host[0] + v.Host[size/2]; sum > 2 {
		t.Errorf("a view of a freed arena holds %d", sum)
	}
}
