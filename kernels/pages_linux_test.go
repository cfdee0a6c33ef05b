package kernels

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// TestHugePages wants a large arena's memory to be marked for huge pages, whatever page it starts in, and what it holds to stay.
func TestHugePages(t *testing.T) {
	a, err := NewHostArena(hugeArena + 12345)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Free() }()
	mem := a.View(0, I8, a.Bytes()).I8()
	for i := range mem {
		mem[i] = int8(i)
	}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&mem[0])), len(mem))
	for _, part := range [][]byte{nil, raw[:0], raw[5:6], raw[4000:4200], raw[1 : 1<<20]} {
		InHugePages(part)
	}
	for i := range mem {
		if mem[i] != int8(i) {
			t.Fatalf("byte %d has changed", i)
		}
	}
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this kernel was built without huge pages, and no one who runs it can change that: ", err)
	}
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatalf("only /proc tells which memory is for huge pages: %v", err)
	}
	at := uintptr(unsafe.Pointer(&mem[len(mem)/2]))
	within := false
	for _, line := range strings.Split(string(text), "\n") {
		var from, to uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 && !strings.Contains(line, "kB") {
			within = from <= at && at < to
		}
		if flags, found := strings.CutPrefix(line, "VmFlags:"); found && within {
			if !strings.Contains(flags+" ", " hg ") {
				t.Errorf("the arena's memory has the flags%s, want hg among them", flags)
			}
			return
		}
	}
	t.Fatal("/proc/self/smaps lists no flags of the arena's memory")
}

// resident is how many pages of memory the process holds.
func resident(t *testing.T) (pages int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		var all int
		_, err = fmt.Sscan(string(text), &all, &pages)
	}
	if err != nil {
		t.Fatalf("only /proc tells of memory: %v", err)
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
