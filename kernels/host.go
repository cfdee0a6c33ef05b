package kernels

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"unsafe"
)

// HostArena is an [Arena] in Go memory, for backends that run on the host.
type HostArena struct {
	mem   []byte
	bytes int
}

// arenaAlign is a cache line, and the widest vector of any CPU served.
const arenaAlign = 64

// hugeArena is the size from which an arena asks for huge pages.
const hugeArena = 2 << 20

// What the machine says of its memory; tests put other machines in their place. How much there is is asked for once: an arena takes less time
// than the answer.
var (
	hostMemory      = sync.OnceValue(HostMemory)
	availableMemory = AvailableMemory
)

// held is what all arenas of the process hold.
var held atomic.Int64

// HostLeft is the part of the host's memory that no arena holds, or what other programs leave of it where that is less, in bytes; known is false
// where nobody knows how much there is. Arenas count in full, also where nothing was written to them yet.
func HostLeft() (bytes int64, known bool) {
	total, available := hostMemory(), availableMemory()
	left := uint64(max(int64(total)-held.Load(), 0))
	switch {
	case total == 0:
		left = available
	case available > 0:
		left = min(left, available)
	}
	return int64(min(left, math.MaxInt64)), total > 0 || available > 0
}

// NewHostArena allocates zeroed, 64-byte aligned memory. More than the machine has, together with the arenas that there are, is refused: Go
// ends a program that asks for it, with no error to be caught.
func NewHostArena(bytes int) (*HostArena, error) {
	if bytes < 0 || bytes > math.MaxInt-arenaAlign {
		return nil, fmt.Errorf("kernels: an arena of %d bytes cannot be made", bytes)
	}
	if total := held.Add(int64(bytes)); total < 0 || hostMemory() > 0 && uint64(total) > hostMemory() {
		held.Add(-int64(bytes))
		return nil, fmt.Errorf("%.1f GiB of memory are needed and this machine has %.1f GiB: lower train.batch (and raise train.accumulate), model.context or the model's sizes; prenorm plan shows what each takes",
			float64(total)/(1<<30), float64(hostMemory())/(1<<30))
	}
	raw := make([]byte, bytes+arenaAlign)
	if bytes >= hugeArena {
		InHugePages(raw)
	}
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(raw)))) & (arenaAlign - 1)
	return &HostArena{mem: raw[skip : skip+bytes : skip+bytes], bytes: bytes}, nil
}

// View implements [Arena].
func (a *HostArena) View(off int, dtype DType, shape ...int) View {
	v := View{Shape: shape, DType: dtype}
	v.Host = a.mem[off : off+v.Bytes() : off+v.Bytes()]
	return v
}

// Bytes implements [Arena].
func (a *HostArena) Bytes() int { return a.bytes }

// Free implements [Arena]. The system has the memory back at once; views of it stay readable, as zeros where it tells.
func (a *HostArena) Free() error {
	if a.mem != nil {
		held.Add(-int64(a.bytes))
		giveBack(a.mem)
	}
	a.mem = nil
	return nil
}

// HostUpload is [Backend.Upload] for host memory.
func HostUpload(dst View, src any) error {
	n, err := copyHost(dst, src, true)
	if err == nil && n != dst.Len() {
		err = fmt.Errorf("kernels: upload of %d elements into %v", n, dst)
	}
	return err
}

// HostDownload is [Backend.Download] for host memory.
func HostDownload(dst any, src View) error {
	n, err := copyHost(src, dst, false)
	if err == nil && n != src.Len() {
		err = fmt.Errorf("kernels: download of %v into %d elements", src, n)
	}
	return err
}

// copyHost copies between a view and a slice of equal length and returns the slice's length.
func copyHost(v View, slice any, toView bool) (int, error) {
	switch s := slice.(type) {
	case []float32:
		return copyElems(v, F32, s, toView)
	case []float64:
		return copyElems(v, F64, s, toView)
	case []int32:
		return copyElems(v, I32, s, toView)
	case []int8:
		return copyElems(v, I8, s, toView)
	case []uint16:
		return copyElems(v, BF16, s, toView)
	}
	return 0, fmt.Errorf("kernels: cannot copy between %v and %T", v, slice)
}

func copyElems[E any](v View, d DType, s []E, toView bool) (int, error) {
	if v.DType != d {
		return 0, fmt.Errorf("kernels: cannot copy between %v and %T", v, s)
	}
	if len(s) != v.Len() {
		return len(s), nil
	}
	if m := elems[E](v, d); toView {
		copy(m, s)
	} else {
		copy(s, m)
	}
	return len(s), nil
}
